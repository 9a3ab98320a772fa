"""What exposure is made of: the places that are looked at, and how versions were met there."""

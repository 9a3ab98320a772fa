"""What exposure is made of: the environments that are looked at, and how versions were met there."""

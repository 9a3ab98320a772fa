"""Pages: directives, layout, forms and formatting that every page uses."""

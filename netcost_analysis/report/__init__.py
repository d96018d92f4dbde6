"""A notebook executed on a capture, as a page."""

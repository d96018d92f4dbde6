"""Frames as tables for a reader: text, HTML, CSV."""

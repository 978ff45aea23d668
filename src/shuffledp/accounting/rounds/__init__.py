"""Many rounds of reports."""

"""What everything else stands on: errors, intervals, balls, numbers and words for people, files."""

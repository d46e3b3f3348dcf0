"""What the paper compares Skype with, each behind the same interface as the part that it stands in for."""

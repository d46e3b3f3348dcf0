"""DSkype (paper, section 7) on Spark. Nothing in `distribution` needs Spark itself."""

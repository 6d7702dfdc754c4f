"""The scripts that `vqa-client` is measured against."""

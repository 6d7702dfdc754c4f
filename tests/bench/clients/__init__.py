"""The scripts that `vqa-client` is compared with."""

"""VQA accuracy: `evaluate.load(path of this folder)`."""

"""Names of activations in PyTorch and ONNX."""

ACTIVATION_CLASSES = {"tanh": "Tanh", "relu": "ReLU", "sigmoid": "Sigmoid"}
"""Our name to the class in `torch.nn`."""
ONNX_ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid"}
"""Our name to ONNX's operator."""

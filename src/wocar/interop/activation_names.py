"""Names of activations in PyTorch and ONNX."""

ACTIVATION_CLASSES = {"tanh": "Tanh", "relu": "ReLU", "sigmoid": "Sigmoid"}
ACTIVATION_CLASSES |= {"elu": "ELU", "leaky-relu": "LeakyReLU", "silu": "SiLU", "gelu": "GELU"}
"""Our name to the class in `torch.nn`."""
ONNX_ACTIVATIONS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid", "elu": "Elu", "leaky-relu": "LeakyRelu"}
"""Our name to ONNX's operator."""

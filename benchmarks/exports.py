"""exports.py DIR [--make | --compare] [--only TEXT]... [--plan-only]: whether `ridge plan` understands exported files.

Makes models of torchvision, transformers and torch with random weights (nothing is downloaded), exports them with both
exporters of torch and several opsets, open dimensions named; writes one network channels-last as Keras exports are,
loops and branches as TensorFlow's are, and a quantised one. Then each file is planned, measured and compared:

  FLOPs      multiply-adds that ridge counts, twice, beside an independent counter: torch's FlopCounterMode on the
  module that was
             exported ("torch"), or a count written down by hand for what is no torch module ("hand"); goal: within 1 %
  memory     `ridge plan --memory` beside the peak (VmHWM) that `--measure` shows, median of 3
  question   a file with open dimensions beside the batch, planned without them, must ask for them and exit 2

DIR keeps the files, and counts.json. `--make` needs the packages of `pypi_exports` in ./versions, in a virtual
environment of its own:
  . ./versions && python3 -m venv VENV && VENV/bin/pip install "${pypi_exports[@]}" && VENV/bin/python
  benchmarks/exports.py DIR --make
`--compare` needs only ridge (RIDGE, default build/release/ridge).
Exit 1 where a file cannot be planned, an operator has no rule, FLOPs differ, or no question is asked.
"""

import argparse
import inspect
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys


# ------------------------------------------------------------------------------------------------------------- make

class Made:
    """One module with inputs: names, tensors, and per input the names of its open dimensions."""

    def __init__(self, module, inputs, opened, outputs=("output",), call=None):
        self.module, self.inputs, self.opened = module.eval(), inputs, opened
        self.outputs, self.call = list(outputs), call


def wrapped(module, pick, names):
    """A module that takes tensors by position and returns one tensor or a tuple of them."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = module

        def forward(self, *tensors):
            return pick(self.inner(**dict(zip(names, tensors)), return_dict=True))

    return Wrapped()


def vision(name, size=224):
    import torch
    import torchvision
    extra = {"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}
    module = torchvision.models.get_model(name, weights=None, **extra)
    return Made(module, {"input": torch.randn(1, 3, size, size)}, {"input": {0: "batch"}})


def segmentation():
    import torch
    import torchvision
    inner = torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None,
                                                                         aux_loss=False)

    class Main(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)["out"]

    return Made(Main(), {"input": torch.randn(1, 3, 256, 256)}, {"input": {0: "batch", 2: "height", 3: "width"}})


def detector(name, size):
    import torch
    import torchvision
    inner = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    class Tensors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, image):
            found = self.inner([image])[0]
            return found["boxes"], found["scores"], found["labels"]

    return Made(Tensors(), {"image": torch.rand(3, size, size)}, {}, ("boxes", "scores", "labels"))


def ids(*shape, below=500):
    import torch
    return torch.randint(0, below, shape)


def masked(module, batch, length):
    """A language model with its mask, both open."""
    import torch
    axes = {0: "batch", 1: "sequence"}
    return Made(module,
                {"input_ids": ids(batch, length), "attention_mask": torch.ones(batch, length, dtype=torch.long)},
                {"input_ids": axes, "attention_mask": axes}, ("logits",))


def bert():
    import torch
    import transformers
    config = transformers.BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                     intermediate_size=1024, vocab_size=8000, attn_implementation="eager")
    module = wrapped(transformers.BertModel(config), lambda o: o.last_hidden_state, ["input_ids", "attention_mask"])
    axes = {0: "batch", 1: "sequence"}
    return Made(module, {"input_ids": ids(1, 128), "attention_mask": torch.ones(1, 128, dtype=torch.long)},
                {"input_ids": axes, "attention_mask": axes})


def distilbert():
    import torch
    import transformers
    config = transformers.DistilBertConfig(dim=384, n_layers=3, n_heads=6, hidden_dim=1536, vocab_size=8000,
                                           attn_implementation="eager")
    module = wrapped(transformers.DistilBertForSequenceClassification(config), lambda o: o.logits,
                     ["input_ids", "attention_mask"])
    axes = {0: "batch", 1: "sequence"}
    return Made(module, {"input_ids": ids(2, 96), "attention_mask": torch.ones(2, 96, dtype=torch.long)},
                {"input_ids": axes, "attention_mask": axes}, ("logits",))


def gpt2():
    import transformers
    config = transformers.GPT2Config(n_embd=256, n_layer=4, n_head=4, vocab_size=8000, attn_implementation="eager")
    module = wrapped(transformers.GPT2LMHeadModel(config), lambda o: o.logits, ["input_ids", "attention_mask"])
    module.inner.config.use_cache = False
    return masked(module, 1, 64)


def decoder_with_past(config, model, layers, heads, size, past_length):
    """One step of a decoder: new tokens, and the keys and values of those before as inputs."""
    import torch
    import transformers

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, input_ids, attention_mask, *past):
            cache = transformers.DynamicCache()
            for layer in range(layers):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            out = self.inner(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
            return out.logits

    inputs = {"input_ids": ids(1, 1), "attention_mask": torch.ones(1, past_length + 1, dtype=torch.long)}
    opened = {"input_ids": {0: "batch"}, "attention_mask": {0: "batch", 1: "total_length"}}
    for layer in range(layers):
        for kind in ("key", "value"):
            inputs[f"past_key_values.{layer}.{kind}"] = torch.randn(1, heads, past_length, size)
            opened[f"past_key_values.{layer}.{kind}"] = {0: "batch", 2: "past_length"}
    return Made(Step(), inputs, opened, ("logits",))


def gpt2_past():
    import transformers
    config = transformers.GPT2Config(n_embd=256, n_layer=4, n_head=4, vocab_size=8000, attn_implementation="eager")
    return decoder_with_past(config, transformers.GPT2LMHeadModel(config), 4, 4, 64, 127)


def llama_config():
    import transformers
    return transformers.LlamaConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2,
                                    intermediate_size=704, vocab_size=8000, attn_implementation="eager")


def llama():
    import transformers
    module = wrapped(transformers.LlamaForCausalLM(llama_config()), lambda o: o.logits, ["input_ids", "attention_mask"])
    module.inner.config.use_cache = False
    return masked(module, 1, 64)


def llama_past():
    import transformers
    return decoder_with_past(llama_config(), transformers.LlamaForCausalLM(llama_config()), 4, 2, 32, 127)


def t5_config():
    import transformers
    return transformers.T5Config(d_model=256, d_kv=32, d_ff=1024, num_layers=3, num_heads=8, vocab_size=8000)


def t5_encoder():
    import transformers
    module = wrapped(transformers.T5EncoderModel(t5_config()), lambda o: o.last_hidden_state, ["input_ids"])
    return Made(module, {"input_ids": ids(1, 64)}, {"input_ids": {0: "batch", 1: "sequence"}})


def t5():
    import transformers
    module = wrapped(transformers.T5ForConditionalGeneration(t5_config()), lambda o: o.logits,
                     ["input_ids", "decoder_input_ids"])
    module.inner.config.use_cache = False
    return Made(module, {"input_ids": ids(1, 64), "decoder_input_ids": ids(1, 16)},
                {"input_ids": {0: "batch", 1: "sequence"}, "decoder_input_ids": {0: "batch", 1: "target"}}, ("logits",))


def whisper_encoder():
    import torch
    import transformers
    config = transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, decoder_layers=1,
                                        decoder_attention_heads=6, encoder_ffn_dim=1536, attn_implementation="eager")
    module = wrapped(transformers.WhisperModel(config).encoder, lambda o: o.last_hidden_state, ["input_features"])
    return Made(module, {"input_features": torch.randn(1, 80, 3000)}, {"input_features": {0: "batch"}})


def wav2vec2():
    import torch
    import transformers
    config = transformers.Wav2Vec2Config(hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
                                         intermediate_size=1024,
                                         conv_dim=[128] * 7, num_conv_pos_embeddings=32, attn_implementation="eager")
    module = wrapped(transformers.Wav2Vec2Model(config), lambda o: o.last_hidden_state, ["input_values"])
    return Made(module, {"input_values": torch.randn(1, 16000)}, {"input_values": {0: "batch", 1: "samples"}})


def clip():
    import torch
    import transformers
    text = transformers.CLIPTextConfig(hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
                                       intermediate_size=1024,
                                       vocab_size=8000, eos_token_id=7999, bos_token_id=7998, pad_token_id=1)
    image = transformers.CLIPVisionConfig(hidden_size=256, num_hidden_layers=3, num_attention_heads=4,
                                          intermediate_size=1024, image_size=224, patch_size=32)
    config = transformers.CLIPConfig(text_config=text.to_dict(), vision_config=image.to_dict(), projection_dim=256)
    module = transformers.CLIPModel(config)
    module.set_attn_implementation("eager")
    names = ["input_ids", "pixel_values", "attention_mask"]
    return Made(wrapped(module, lambda o: (o.logits_per_image, o.text_embeds), names),
                {"input_ids": ids(2, 20), "pixel_values": torch.randn(1, 3, 224, 224),
                 "attention_mask": torch.ones(2, 20, dtype=torch.long)},
                {"input_ids": {0: "texts", 1: "sequence"}, "pixel_values": {0: "images"},
                 "attention_mask": {0: "texts", 1: "sequence"}}, ("logits", "embeddings"))


def recurrent(kind):
    import torch

    class Tagger(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(5000, 128)
            self.cells = getattr(torch.nn, kind)(128, 256, num_layers=2, bidirectional=True, batch_first=True)
            self.head = torch.nn.Linear(512, 40)

        def forward(self, tokens):
            return self.head(self.cells(self.table(tokens))[0])

    return Made(Tagger(), {"tokens": ids(1, 60)}, {"tokens": {0: "batch", 1: "sequence"}}, ("tags",))


def upsampler():
    """Transposed convolutions, pixel shuffle, group normalisation: what generators are made of."""
    import torch
    nn = torch.nn
    module = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.SiLU(),
                           nn.ConvTranspose2d(64, 64, 4, 2, 1),
                           nn.LeakyReLU(0.2), nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2),
                           nn.Conv2d(64, 3, 3, padding=1), nn.Tanh())
    return Made(module, {"input": torch.randn(1, 3, 64, 64)}, {"input": {0: "batch", 2: "height", 3: "width"}})


def volume():
    import torch
    nn = torch.nn
    module = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2),
                           nn.Conv3d(16, 32, 3, padding=1),
                           nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(32, 2))
    return Made(module, {"scan": torch.randn(1, 1, 32, 48, 48)}, {"scan": {0: "batch"}})


# name: (maker, [(exporter, opset)])
TORCH = {
    "resnet18": (lambda: vision("resnet18"), [("script", 11), ("script", 17), ("dynamo", 18), ("dynamo", 21)]),
    "mobilenet_v3_small": (lambda: vision("mobilenet_v3_small"), [("script", 13), ("dynamo", 18)]),
    "efficientnet_b0": (lambda: vision("efficientnet_b0"), [("script", 12), ("dynamo", 20)]),
    "convnext_tiny": (lambda: vision("convnext_tiny"), [("script", 17), ("dynamo", 18)]),
    "vit_b_16": (lambda: vision("vit_b_16"), [("script", 17), ("dynamo", 18)]),
    "swin_t": (lambda: vision("swin_t"), [("script", 17), ("dynamo", 18)]),
    "inception_v3": (lambda: vision("inception_v3", 299), [("script", 11), ("dynamo", 18)]),
    "deeplabv3": (segmentation, [("script", 16), ("dynamo", 18)]),
    "ssdlite320": (lambda: detector("ssdlite320_mobilenet_v3_large", 320), [("script", 17), ("dynamo", 18)]),
    "fasterrcnn": (lambda: detector("fasterrcnn_mobilenet_v3_large_320_fpn", 320), [("script", 17), ("dynamo", 18)]),
    "bert": (bert, [("script", 14), ("dynamo", 18)]),
    "distilbert": (distilbert, [("script", 14), ("dynamo", 20)]),
    "gpt2": (gpt2, [("script", 17), ("dynamo", 18)]),
    "gpt2_past": (gpt2_past, [("script", 17), ("dynamo", 18)]),
    "llama": (llama, [("script", 17), ("dynamo", 18), ("dynamo", 23)]),
    "llama_past": (llama_past, [("script", 17), ("dynamo", 18)]),
    "t5_encoder": (t5_encoder, [("script", 15), ("dynamo", 18)]),
    "t5": (t5, [("script", 15), ("dynamo", 18)]),
    "whisper_encoder": (whisper_encoder, [("script", 17), ("dynamo", 18)]),
    "wav2vec2": (wav2vec2, [("script", 17), ("dynamo", 18)]),
    "clip": (clip, [("script", 17), ("dynamo", 18)]),
    "lstm": (lambda: recurrent("LSTM"), [("script", 11), ("script", 17), ("dynamo", 18)]),
    "gru": (lambda: recurrent("GRU"), [("script", 17), ("dynamo", 18)]),
    "upsampler": (upsampler, [("script", 17), ("dynamo", 18)]),
    "volume": (volume, [("script", 17), ("dynamo", 18)]),
}


def torch_flops(made):
    """Products, convolutions and attention by torch's own counter, everything computed by the operators that it
    knows."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    torch.backends.mha.set_fastpath_enabled(False)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH), counter:
        made.module(*made.inputs.values())
    return counter.get_total_flops()


def export_torch(made, exporter, opset, path):
    import torch
    torch.backends.mha.set_fastpath_enabled(False)
    names = {"input_names": list(made.inputs), "output_names": made.outputs, "opset_version": opset}
    with torch.no_grad():
        if exporter == "script":
            torch.onnx.export(made.module, tuple(made.inputs.values()), path, dynamo=False, dynamic_axes=made.opened,
                              **names)
            return
        shapes = [made.opened.get(name, {}) for name in made.inputs]
        parameters = list(inspect.signature(made.module.forward).parameters.values())
        if parameters[-1].kind == inspect.Parameter.VAR_POSITIONAL:  # those that *past takes are one entry
            fixed = len(parameters) - 1
            shapes = shapes[:fixed] + [tuple(shapes[fixed:])]
        program = torch.onnx.export(made.module, tuple(made.inputs.values()), dynamo=True,
                                    dynamic_shapes=tuple(shapes) if made.opened else None, **names)
        program.save(path, external_data=False)


def arguments_of(path, made):
    """Options that bind every open dimension of the file to the size that was exported with."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    words, question = [], False
    for value in graph.input:
        if value.name not in made.inputs:
            continue
        shape = list(made.inputs[value.name].shape)
        question = question or any(not dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim[1:])
        if shape:
            words += ["--shape", f"{value.name}={'x'.join(map(str, shape))}"]
    return words, question


# Hand-made: what other exporters write.

def keras_cnn(path):
    """NHWC at both ends as tf2onnx leaves it: one Transpose at the input, asymmetric padding, Relu6 as Clip, a
    Transpose back, the mean over rows and columns, Squeeze, and Softmax. 2 × multiply-adds by hand."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(1)
    nodes, weights, flops = [], [], 0

    def weight(name, *shape):
        weights.append(numpy_helper.from_array((random.standard_normal(shape) * 0.1).astype(np.float32), name))
        return name

    def clip(x, name):
        nodes.append(helper.make_node("Clip", [x, "zero", "six"], [name + ":0"], name))
        return name + ":0"

    weights.append(numpy_helper.from_array(np.float32(0), "zero"))
    weights.append(numpy_helper.from_array(np.float32(6), "six"))
    nodes.append(helper.make_node("Transpose", ["input_1:0"], ["nchw"], "model/Conv1/Conv2D__6", perm=[0, 3, 1, 2]))
    x, size, channels = "nchw", 128, 3
    for i, (out, stride) in enumerate([(32, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]):
        pad = [0, 0, 1, 1] if stride == 2 else [1, 1, 1, 1]
        if i > 0:
            nodes.append(helper.make_node("Conv", [x, weight(f"dw{i}", channels, 1, 3, 3), weight(f"dwb{i}", channels)],
                                          [f"dw{i}:0"],
                                          f"model/dw{i}/depthwise", group=channels, kernel_shape=[3, 3], pads=pad,
                                          strides=[stride] * 2))
            size //= stride
            flops += 2 * size * size * channels * 9
            x = clip(f"dw{i}:0", f"model/dw{i}_relu/Relu6")
            nodes.append(helper.make_node("Conv", [x, weight(f"pw{i}", out, channels, 1, 1), weight(f"pwb{i}", out)],
                                          [f"pw{i}:0"], f"model/pw{i}/Conv2D", kernel_shape=[1, 1], strides=[1, 1]))
            flops += 2 * size * size * channels * out
        else:
            nodes.append(helper.make_node("Conv", [x, weight("c", out, 3, 3, 3), weight("cb", out)], ["pw0:0"],
                                          "model/Conv1/Conv2D", kernel_shape=[3, 3], pads=pad, strides=[stride] * 2))
            size //= stride
            flops += 2 * size * size * out * 27
        x = clip(f"pw{i}:0", f"model/pw{i}_relu/Relu6")
        channels = out
    nodes.append(helper.make_node("Transpose", [x], ["nhwc"], "model/last__70", perm=[0, 2, 3, 1]))
    nodes.append(helper.make_node("ReduceMean", ["nhwc"], ["mean"], "model/global_average_pooling2d/Mean", axes=[1, 2],
                                  keepdims=0))
    nodes.append(helper.make_node("MatMul", ["mean", weight("dense", channels, 1000)], ["scores"],
                                  "model/predictions/MatMul"))
    nodes.append(helper.make_node("Add", ["scores", weight("bias", 1000)], ["logits"], "model/predictions/BiasAdd"))
    nodes.append(helper.make_node("Softmax", ["logits"], ["predictions"], "model/predictions/Softmax", axis=-1))
    flops += 2 * channels * 1000
    graph = helper.make_graph(nodes, "tf2onnx",
                              [helper.make_tensor_value_info("input_1:0", TensorProto.FLOAT, ["unk__1", 128, 128, 3])],
                              [helper.make_tensor_value_info("predictions", TensorProto.FLOAT, ["unk__2", 1000])],
                              weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], producer_name="tf2onnx",
                                ir_version=8), path)
    return {"flops": flops, "counter": "hand", "arguments": ["--batch", "1"], "question": False}


def loop_body(units):
    """One step of a simple recurrent layer as tf2onnx writes it: takes a row, multiplies, writes the row out."""
    from onnx import TensorProto, helper
    nodes = [helper.make_node("Gather", ["sequence", "i"], ["row"], "take", axis=0),
             helper.make_node("Concat", ["row", "state"], ["both"], "concat", axis=1),
             helper.make_node("MatMul", ["both", "kernel"], ["product"], "multiply"),
             helper.make_node("Tanh", ["product"], ["state_out"], "tanh"),
             helper.make_node("Identity", ["go"], ["go_out"], "go_on"),
             helper.make_node("Identity", ["state_out"], ["row_out"], "emit")]
    return helper.make_graph(nodes, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                                             helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                                             helper.make_tensor_value_info("state", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
                              helper.make_tensor_value_info("state_out", TensorProto.FLOAT, None),
                              helper.make_tensor_value_info("row_out", TensorProto.FLOAT, None)])


def tf_loop(path, steps=50, units=256):
    """A recurrent layer as Loop, a Scan over the result, and a branch that always goes one way."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(1)

    def array(name, value):
        return numpy_helper.from_array(np.asarray(value), name)

    def branch(name, factor):
        return helper.make_graph([helper.make_node("MatMul", ["last", "head" if factor else "other_head"], [name],
                                                   name + "_matmul")], name, [],
                                 [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    scan = helper.make_graph([helper.make_node("Add", ["sum", "x"], ["sum_out"], "add"),
                              helper.make_node("Identity", ["sum_out"], ["each"], "emit")], "running",
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, units]) for n in ("sum", "x")],
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, units])
                              for n in ("sum_out", "each")])
    nodes = [helper.make_node("Loop", ["trips", "true", "start"], ["end", "rows"], "while_loop", body=loop_body(units)),
             helper.make_node("Scan", ["start", "rows"], ["last", "sums"], "running_sum", body=scan, num_scan_inputs=1),
             helper.make_node("ReduceSum", ["end"], ["total"], "total", keepdims=0),
             helper.make_node("Greater", ["total", "zero"], ["positive"], "greater"),
             helper.make_node("If", ["positive"], ["answer"], "cond", then_branch=branch("yes", True),
                              else_branch=branch("no", False))]
    weights = [array("trips", np.int64(steps)), array("true", np.bool_(True)), array("zero", np.float32(0)),
               array("start", np.zeros((1, units), np.float32)),
               array("kernel", (random.standard_normal((2 * units, units)) * 0.05).astype(np.float32)),
               array("head", random.standard_normal((units, 1000)).astype(np.float32)),
               array("other_head", random.standard_normal((units, 1000)).astype(np.float32))]
    graph = helper.make_graph(nodes, "tf2onnx",
                              [helper.make_tensor_value_info("sequence", TensorProto.FLOAT, ["steps", 1, units])],
                              [helper.make_tensor_value_info("answer", TensorProto.FLOAT, [1, 1000]),
                               helper.make_tensor_value_info("sums", TensorProto.FLOAT, ["rows", 1, units])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], producer_name="tf2onnx",
                                ir_version=8), path)
    return {"flops": steps * 2 * 2 * units * units + 2 * units * 1000, "counter": "hand",
            "arguments": ["--shape", f"sequence={steps}x1x{units}"], "question": False}


def quantised(source, path, flops):
    """ONNX Runtime's own quantiser, QDQ form, weights per channel."""
    import numpy as np
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = 4

        def get_next(self):
            self.left -= 1
            return {"input": np.random.default_rng(self.left).random((1, 3, 224, 224),
                                                                     np.float32)} if self.left >= 0 else None

    from onnxruntime.quantization.shape_inference import quant_pre_process
    ready = path.with_suffix(".ready.onnx")
    quant_pre_process(source, ready, skip_symbolic_shape=True)
    quantization.quantize_static(ready, path, Samples(), activation_type=quantization.QuantType.QUInt8,
                                 quant_format=quantization.QuantFormat.QDQ, per_channel=True)
    ready.unlink()
    return {"flops": flops, "counter": "torch", "arguments": ["--batch", "1"], "question": False}


def dynamic_quantised(source, path, like):
    from onnxruntime import quantization
    quantization.quantize_dynamic(source, path)
    return {**like, "file": path.name}


def first_line(error):
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()  # torch colours what it says
    return plain.splitlines()[0][:200] if plain else ""


def opset_of(path):
    import onnx
    return max(o.version for o in onnx.load(path, load_external_data=False).opset_import if o.domain in ("", "ai.onnx"))


def make(folder, wanted):
    known = folder / "counts.json"
    counts = json.loads(known.read_text()) if known.exists() else {}

    def keep(name, entry, path):
        counts[name] = {**entry, "file": path.name, "opset": opset_of(path)}
        known.write_text(json.dumps(counts, indent=1))
        print(f"{name}: {path.stat().st_size / 1e6:.1f} MB", file=sys.stderr, flush=True)

    def attempt(name, work):
        path = folder / f"{name}.onnx"
        if name in counts and path.exists() and "failed" not in counts[name] or not wanted(name):
            return
        try:
            keep(name, work(path), path)
        except Exception as error:  # an exporter that cannot do it is a row of the table
            counts[name] = {"failed": f"{type(error).__name__}: {first_line(error)}"}
            known.write_text(json.dumps(counts, indent=1))
            print(f"{name}: {counts[name]['failed']}", file=sys.stderr, flush=True)

    for family, (maker, exports) in TORCH.items():
        names = {f"{family}.{exporter}{opset}": (exporter, opset) for exporter, opset in exports}
        if all(name in counts and "failed" not in counts[name] or not wanted(name) for name in names):
            continue
        made, flops = maker(), None
        for name, (exporter, opset) in names.items():
            def work(path):
                nonlocal flops
                flops = flops if flops is not None else torch_flops(made)
                export_torch(made, exporter, opset, path)
                words, question = arguments_of(path, made)
                return {"flops": flops, "counter": "torch", "arguments": words, "question": question}
            attempt(name, work)
    attempt("keras_cnn", keras_cnn)
    attempt("tf_loop", tf_loop)
    for name, source in (("resnet18.qdq", "resnet18.script17"),
                         ("mobilenet_v3_small.qdq", "mobilenet_v3_small.script13")):
        if source in counts and "flops" in counts[source]:
            attempt(name, lambda path: quantised(folder / counts[source]["file"], path, counts[source]["flops"]))
    if "flops" in counts.get("bert.script14", {}):
        attempt("bert.dynamic_int8",
                lambda path: dynamic_quantised(folder / "bert.script14.onnx", path, counts["bert.script14"]))
    return 0


# ---------------------------------------------------------------------------------------------------------- compare

def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


class Row:
    def __init__(self, name, entry):
        self.name, self.entry, self.faults, self.plan = name, entry, [], None
        self.memory = self.peak = None


def plan_row(ridge, row, path, threads):
    words = row.entry["arguments"]
    done = run(ridge, "plan", path, *words, "--threads", threads, "--json")
    if done.returncode != 0:
        row.faults.append(f"plan exits {done.returncode}: "
                          f"{done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ''}")
        return
    row.plan = json.loads(done.stdout)
    if row.plan["without_rule"]:
        row.faults.append("no rule: " + ", ".join(row.plan["without_rule"]))
    ratio = 2 * row.plan["macs"] / row.entry["flops"]
    if abs(ratio - 1) > 0.01:
        row.faults.append(f"FLOPs {100 * (ratio - 1):+.1f} %")
    for form in ([], ["--memory"], ["--batch", "1..4"]):
        tried = run(ridge, "plan", path, *(words if form[:1] != ["--batch"] or words[:1] != ["--batch"] else []), *form)
        fixed = "the batch cannot be" in tried.stderr or "cannot be" in tried.stderr
        if tried.returncode not in (0, 1) and not (form[:1] == ["--batch"] and fixed):
            row.faults.append(f"plan {' '.join(form)} exits {tried.returncode}: "
                              f"{tried.stderr.strip().splitlines()[-1]}")
    if row.entry["question"]:
        asked = run(ridge, "plan", path)
        if asked.returncode != 2 or "leaves open" not in asked.stderr:
            row.faults.append(f"without shapes: exit {asked.returncode}, no question")


def memory_row(ridge, row, path):
    words = row.entry["arguments"]
    peaks = []
    for _ in range(3):
        done = run(ridge, "plan", path, *words, "--memory", "--measure", "--threads", 1, "--json")
        if done.returncode > 1:
            return
        row.memory = json.loads(done.stdout)["memory"]
        peaks.append(row.memory["measured"]["peak"])
    row.peak = statistics.median(peaks)


def ratio_text(predicted, measured, unit, scale):
    if predicted is None:
        return f"{'-':>26}"
    text = f"{predicted / scale:8.3g}"
    if measured is None:
        return f"{text + ' / - ' + unit:>26}"
    return f"{f'{text} /{measured / scale:8.3g} {unit} {100 * (predicted / measured - 1):+5.0f} %':>26}"


def print_row(row):
    if row.plan is None:
        print(f"{row.name:28} {row.entry['opset']:5}  {'; '.join(row.faults)}", flush=True)
        return
    ours, theirs = 2 * row.plan["macs"], row.entry["flops"]
    print(f"{row.name:28} {row.entry['opset']:5} {ours / 1e9:9.4f} {theirs / 1e9:9.4f} {row.entry['counter']:5} "
          f"{100 * (ours / theirs - 1):+6.2f} % "
          f"{ratio_text(row.memory and row.memory['peak'], row.peak, 'MB', 1e6)}  {'; '.join(row.faults) or 'ok'}",
          flush=True)


def summary(rows):
    errors = [abs(row.memory["peak"] / row.peak - 1) for row in rows if row.memory and row.peak]
    if errors:
        print(f"memory: {len(errors)} files, {100 * sum(e <= 0.1 for e in errors) / len(errors):.0f} % within ±10 %, "
              f"{100 * sum(e <= 0.2 for e in errors) / len(errors):.0f} % within ±20 %, "
              f"median error {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.0f} %")


def compare(folder, wanted, options):
    ridge = os.environ.get("RIDGE", "build/release/ridge")
    rows, skipped = [], []
    print(f"{'file':28} {'opset':>5} {'ridge':>9} {'counter':>9} {'':5} {'GFLOP':>8}  {'memory / measured':>26}")
    for name, entry in json.loads((folder / "counts.json").read_text()).items():
        if not wanted(name):
            continue
        if "failed" in entry:
            skipped.append(f"{name}: the exporter cannot: {entry['failed']}")
            continue
        row, path = Row(name, entry), folder / entry["file"]
        plan_row(ridge, row, path, options.threads)
        if row.plan is not None and not options.plan_only:
            memory_row(ridge, row, path)
        print_row(row)
        rows.append(row)
    for line in skipped:
        print(line)
    summary(rows)
    bad = [row for row in rows if row.faults]
    print(f"{len(rows) - len(bad)} of {len(rows)} files without a fault")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plan-only", action="store_true", help="runs no model")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    def wanted(name):
        return not options.only or any(part in name for part in options.only)

    if options.make or not options.compare:
        make(options.folder, wanted)
    return compare(options.folder, wanted, options) if options.compare or not options.make else 0


if __name__ == "__main__":
    sys.exit(main())

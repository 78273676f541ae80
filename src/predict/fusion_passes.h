// The steps of fusion.h, in the order in which they run. Each rewrites what it finds and is named after what ONNX Runtime
// calls the transformation. Private to plan/.
#pragma once

#include "predict/fusion.h"
#include "predict/rewriter.h"

namespace ridge::predict {

// Before all levels: functions of ONNX that the engine has no kernel for (HardSwish)
void spell_out_functions(Rewriter& graph);

// Level "basic"
void drop_what_does_not_run(Rewriter& graph);
void fold_into_convolutions(Rewriter& graph);  // BatchNormalization, Mul and Add by constants per channel, Pad
void fuse_matmul_and_add(Rewriter& graph);     // → Gemm

// Level "extended"
void fuse_quantised(Rewriter& graph);    // QDQ → kernels on integers
void fuse_activations(Rewriter& graph);  // into Conv and Gemm
void fuse_gelu(Rewriter& graph);         // Gelu, BiasGelu, QuickGelu, FastGelu
void fuse_layer_normalisation(Rewriter& graph);
void fuse_attention(Rewriter& graph);  // scales and transpositions into MatMul, bias into Softmax
void fuse_skip_layer_normalisation(Rewriter& graph);

// Level "all"
void block_channels(Rewriter& graph, int64_t block);  // the NCHWc layout
void fuse_additions(Rewriter& graph);                 // Add after a convolution that is not blocked

}  // namespace ridge::predict

// What OpenVINO made of a model, read back from its compiled graph: the precision that each layer executes in. A precision
// that was asked for and is not executed is an error here, because the engine itself changes it without a word (FP32 to BF16
// wherever it may choose; FP16 to BF16 or FP32 where the CPU lacks it).
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "engine/openvino/instruction_sets.h"

namespace ridge::engine::openvino {

// Of the compiled graph, in the engine's own words.
struct ExecutedLayer {
  std::string name;
  std::string type;       // "Convolution"
  std::string precision;  // "f32", "bf16", "u8", …
  std::string kernel;     // "brgconv_avx512_bf16"; "undef_…" while shapes are open
};

// Whether a layer of that type computes sums of products: those are what a precision is asked for.
bool multiplies(const std::string& type);

// Before anything is compiled: whether this CPU could.
Status verify_possible(Precision wanted, const InstructionSets& sets);

// ok: what multiplies executes in `wanted`. FP32: all of it. Others: at least one layer, and not by a reference kernel.
Status verify(Precision wanted, std::span<const ExecutedLayer> layers);

// "bf16 in 53 layers, f32 in 1", of those that multiply.
std::string precisions_text(std::span<const ExecutedLayer> layers);

}  // namespace ridge::engine::openvino

// The precision in which each layer executes, read back from OpenVINO's compiled graph. A requested precision that is
// not executed is an error here, because the engine silently changes it (FP32 to BF16 wherever it may choose; FP16 to
// BF16 or FP32 if the CPU lacks it).
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "engine/openvino/instruction_sets.h"

namespace ridge::engine::openvino {

// A layer of the compiled graph, in the engine's own words.
struct ExecutedLayer {
  std::string name;
  std::string type;       // "Convolution"
  std::string precision;  // "f32", "bf16", "u8", …
  std::string kernel;     // "brgconv_avx512_bf16"; "undef_…" while shapes are dynamic
};

// True if a layer of that type computes sums of products, to which the requested precision applies.
bool multiplies(const std::string& type);

// Before anything is compiled: whether this CPU could.
Status verify_possible(Precision wanted, const InstructionSets& sets);

// ok if the layers that multiply run in `wanted`: all of them for FP32, else one at least, not a reference kernel.
Status verify(Precision wanted, std::span<const ExecutedLayer> layers);

// "bf16 in 53 layers, f32 in 1", of those that multiply.
std::string precisions_text(std::span<const ExecutedLayer> layers);

}  // namespace ridge::engine::openvino

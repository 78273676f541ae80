// The instruction sets for reduced precision on this CPU, within a cap set on the engine. Only for the reason why a
// precision is refused; the precision actually executed is read back from the engine (executed.h).
#pragma once

#include <optional>
#include <string>

#include "base/units.h"

namespace ridge::engine::openvino {

struct InstructionSets {
  bool known = false;  // false: not an x86 CPU, whose sets are not read here
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_fp16 = false;
  bool avx_vnni = false;
  bool avx_ne_convert = false;  // AVX2 with conversions from BF16 and FP16
  std::string cap;              // value of ONEDNN_MAX_CPU_ISA; empty: none
};

// Reads this machine and this process's environment.
InstructionSets instruction_sets();

// Why the engine's kernels cannot compute in `precision`; nothing if they can. FP32 and INT8 always can.
std::optional<std::string> missing_for(Precision precision, const InstructionSets& sets);

}  // namespace ridge::engine::openvino

// The line of a decoder's step before any was measured: each of its terms is a bound of this machine over the share of
// it that OpenVINO's decoder reaches elsewhere. Pure.
#pragma once

#include "generate/step_line.h"
#include "llm/cpu/decoder_limit.h"

namespace ridge::llm::cpu {

// 13 of 14 times in requests of llama-90m in BF16 on one machine kept within this error
// (benchmarks/results/llm_prediction-intel-2c.txt). Elsewhere it is not known.
double estimated_line_error_percent();

// fixed:      time of the weights / share of the bandwidth
// per token:  FLOPs of the layers / (share · peak); per row those of the head
// per cached: bytes of a cached token / (share · bandwidth of the memory)
// per pair:   FLOPs of a pair / (share · peak)
generate::StepLine estimated_line(const DecoderLimit& limit, engine::WeightFormat weights);

}  // namespace ridge::llm::cpu

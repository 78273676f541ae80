// A decoder as a graph of OpenVINO's: built from a checkpoint's weights in the form that ov::pass::SDPAToPagedAttention
// recognises, or read as it was exported; then turned by the pass, so that keys and values live in blocks.
//
// The pass matches nothing silently where the form is another, so its PagedAttention nodes are counted.
#pragma once

#include <cstdint>
#include <memory>
#include <openvino/core/model.hpp>
#include <string>

#include "base/result.h"
#include "checkpoint/decoder_config.h"
#include "checkpoint/weights.h"
#include "engine/decoder.h"

namespace ridge::engine::openvino::plugin {

// Inputs that are not of the pass. A graph that was read has no rotary ones: it computes them from position_ids.
constexpr const char* kRotaryCos = "rotary_cos";      // FP32 [tokens, 1, 1, head_dim]
constexpr const char* kRotarySin = "rotary_sin";      // the same
constexpr const char* kSampledRows = "sampled_rows";  // INT32 [rows]: tokens of the step whose logits are wanted
constexpr const char* kLogits = "logits";             // FP32 [rows, 1, vocabulary]

struct DecoderGraph {
  std::shared_ptr<ov::Model> model;
  int64_t weight_bytes = 0;  // of all matrices but the embedding, and of what belongs to them
};

// `packed`: matrices are multiplied by PackedBlock. `threads` convert the weights. Throws OpenVINO's exceptions.
Result<DecoderGraph> build_decoder(const checkpoint::DecoderConfig& config,
                                   std::shared_ptr<const checkpoint::Weights> weights, WeightFormat form, bool packed,
                                   int threads);
// Reads a folder with a graph (checkpoint/graph_folder.h). kUnsupported: not optimum-intel's form. Throws the same.
Result<DecoderGraph> read_decoder(const checkpoint::DecoderConfig& config, const std::string& folder);

}  // namespace ridge::engine::openvino::plugin

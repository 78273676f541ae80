// Reads a decoder's computation from a checkpoint's config.json: only members on which every number of the forward pass
// depends. Unknown ones are refused by name. config.h describes many more, to size them. Pure, but for
// read_decoder_config().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ridge::checkpoint {

enum class RopeScaling {
  kNone,
  kLinear,    // positions are divided by the factor
  kLlama3,    // long waves are stretched by the factor, short ones stay
  kYarn,      // the same by turns in the original context, and attention is sharpened (arXiv:2309.00071)
  kDivisors,  // each frequency has its own factor
};

// Rotary positions (arXiv:2104.09864). Names as in config.json.
struct Rope {
  double theta = 10000;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  double original_context = 0;           // [tokens]
  double beta_fast = 32, beta_slow = 1;  // YaRN: turns from which a wave stays, and below which it is stretched
  bool truncate = true;                  // YaRN: to whole pairs of a head
  double attention_factor = 1;           // of cosines and sines
  std::vector<double> divisors = {};     // of the frequencies: head_dim / 2
};

struct DecoderConfig {
  std::string kind;  // model_type
  int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0;
  int64_t vocabulary = 0;
  int64_t context = 0;  // most tokens of a sequence: at most the sliding window, as only full attention is known
  double rms_norm_eps = 1e-6;
  Rope rope;
  bool tied_embeddings = false;                // the output matrix is the embedding
  bool qkv_bias = false, output_bias = false;  // of attention's projections
  bool qk_norm = false;                        // RMS norm of each head's query and key
  std::optional<int64_t> bos;
  std::vector<int64_t> eos;  // tokens that end an answer
};

// "rope_scaling" of type "divisors" is ridge's own, for GGUF. Kinds: those of architectures.h that are served.
// `generation`: generation_config.json, or null; its token ids count before the config's. kUnsupported: a kind, an
// activation, a scaling of positions, a quantisation that the forward pass does not have.
Result<DecoderConfig> decoder_config_of(const Json& config, const Json* generation);
// Reads the two files of a folder, or a GGUF file.
Result<DecoderConfig> read_decoder_config(const std::string& path);

// [rad per position] of each pair of a head: head_dim / 2. Source: transformers, modeling_rope_utils.py
// (_compute_default_rope_parameters, _linear, _llama3, _yarn).
std::vector<double> rope_frequencies(const Rope& rope, int64_t head_dim);

}  // namespace ridge::checkpoint

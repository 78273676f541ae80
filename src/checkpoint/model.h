// A decoder-only language model as its parts: groups of equal layers, each an attention and a feed-forward network.
// config.h reads one; llm/model.h says what follows from it, decoder_config.h what the engine's decoder takes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "checkpoint/weight_format.h"

namespace ridge::checkpoint {

// kFull: keys and values of every token (also grouped queries); kWindow: of the last `window`; kLatent: one compressed
// row per token for all heads (DeepSeek-V2, arXiv:2405.04434, section 2.1); kLinear: a state of fixed size per sequence
// (gated delta net, arXiv:2412.06464).
enum class AttentionKind { kFull, kWindow, kLatent, kLinear };
NameTable<AttentionKind> names_of(AttentionKind);

struct Attention {
  AttentionKind kind = AttentionKind::kFull;
  int64_t heads = 0;     // linear: of values
  int64_t kv_heads = 0;  // linear: of keys
  int64_t head_dim = 0;  // of queries and keys; latent: nope + rope
  int64_t value_dim = 0;
  int64_t window = 0;       // [tokens]
  int64_t query_rank = 0;   // latent; 0: queries are not compressed
  int64_t latent_rank = 0;  // latent: of keys and values
  int64_t rope_dim = 0;     // latent: the part of head_dim that is not compressed
  int64_t convolution = 0;  // linear: width of its causal convolution
  int64_t index_heads = 0, index_dim = 0,
          index_top = 0;     // sparse: an indexer chooses `index_top` tokens (DeepSeek-V3.2)
  bool output_gate = false;  // one more matrix as wide as the queries
  bool qkv_bias = false, output_bias = false, sinks = false;
  bool qk_norm = false;       // per head
  bool qk_norm_wide = false;  // over all heads (MiniMax, OLMo)
};

struct FeedForward {
  int64_t intermediate = 0;  // of the dense network; 0: none
  bool gated = true;         // three matrices (SwiGLU), else two
  bool bias = false;         // on every matrix
  int64_t experts = 0, experts_per_token = 0, expert_intermediate = 0;
  int64_t shared_intermediate = 0;  // of experts that every token uses, together
  bool shared_gate = false;
  bool router_bias = false;  // one number per expert
  bool expert_bias = false;  // on every expert's matrices and the router
};

struct Layers {
  int64_t count = 0;
  Attention attention;
  FeedForward feed_forward;
};

struct Formats {
  WeightFormat attention = WeightFormat::kBf16;
  WeightFormat feed_forward = WeightFormat::kBf16;  // dense network and shared experts
  WeightFormat experts = WeightFormat::kBf16;
};

struct Model {
  std::string name;
  int64_t hidden = 0;
  int64_t vocabulary = 0;
  int64_t positions = 0;  // rows of a learned position table; 0: rotary or none
  bool tied_embeddings = false;
  int64_t norms_per_layer = 2, outer_norms = 1;  // outer: before the head, and of the embedding
  bool norm_bias = false, head_bias = false;
  int64_t context = 0;       // longest; 0: not stated
  int64_t draft_layers = 0;  // of multi-token prediction, each like the last of `layers`; not counted in the parameters
  std::vector<Layers> layers;
  Formats formats;
  std::vector<std::string> notes;  // assumptions, and what is not counted
  int64_t layer_count() const;
};

}  // namespace ridge::checkpoint

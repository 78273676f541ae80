// A decoder-only language model as its parts: groups of equal layers, each an attention and a feed-forward network; and what follows from the
// dimensions alone: parameters, those used per token, bytes of weights and of the cache. Pure; config.h reads one from a config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "llm/format.h"

namespace ridge::llm {

// kFull: keys and values of every token (also grouped queries); kWindow: of the last `window`; kLatent: one compressed row per token for all heads
// (DeepSeek-V2, arXiv:2405.04434, section 2.1); kLinear: a state of fixed size per sequence (gated delta net, arXiv:2412.06464).
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
  Format attention = Format::kBf16;
  Format feed_forward = Format::kBf16;  // dense network and shared experts
  Format experts = Format::kBf16;
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

// Number of weights.
struct Parameters {
  double embedding = 0;  // tables of tokens and positions; a token reads one row
  double head = 0;       // matrix to the vocabulary; a tied model shares the embedding's, which counts once in total
  double attention = 0;  // matrices; so are these
  double feed_forward = 0;
  double router = 0;
  double experts = 0;       // routed
  double experts_used = 0;  // routed, per token
  double small = 0;         // norms, biases, convolutions
  double draft = 0;         // layers of multi-token prediction, beside the total
  double total = 0;
  double active = 0;  // used per token
};
Parameters parameters_of(const Model& model);

// Of one layer.
struct LayerParameters {
  double attention = 0, feed_forward = 0, router = 0, expert = 0, small = 0;  // expert: one
};
LayerParameters parameters_of(const Model& model, const Layers& layers);

// Of all weights as stored: matrices of the layers in their formats, the rest in 16 bits.
double weight_bytes(const Model& model, const Formats& formats);

// Of one sequence of `tokens` tokens, `bits` per value; the states of linear layers are kept in 32 bits.
double cache_bytes(const Model& model, double tokens, double bits);
double cache_bytes(const Attention& attention, double tokens, double bits);
// Growth per token of a sequence that is shorter than every window.
double cache_bytes_per_token(const Model& model, double bits);

// Of attention for `tokens` new tokens of a sequence with `cached` before them: pairs of tokens that attend, keys and values, 2 each.
double attention_flops(const Model& model, double tokens, double cached);

// Average number of experts used by `tokens` tokens that choose independently, experts being of unequal popularity (gamma distributed with shape θ):
// E · (1 − (1 − k/E) · (1 + (tokens − 1)·k/(E·θ))^−θ), at most that of an even choice, E · (1 − (1 − k/E)^tokens).
inline constexpr double kExpertPopularity = 1.5;  // θ that fits the kernel measurements best
double touched_experts(double experts, double per_token, double tokens);

}  // namespace ridge::llm

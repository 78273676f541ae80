// What distinguishes the decoders that config.json's model_type and GGUF's general.architecture name: one row each, for
// sizing and serving alike. Immutable. Source: the modelling files of the transformers library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridge::checkpoint {

enum class Trait : unsigned {
  kPlain = 1,              // a feed-forward network of two matrices
  kBiases = 2,             // on every projection and norm
  kQkvBias = 4,            // on queries, keys and values
  kQkNorm = 8,             // one per head
  kQkNormWide = 16,        // one over all heads
  kLearnedPositions = 32,  // a table of them
  kTied = 64,              // unless tie_word_embeddings says otherwise
  kFourNorms = 128,        // per layer
  kOneNorm = 256,          // per layer
  kWindowOff = 512,        // a sliding window only if use_sliding_window is true
  kSharedGate = 1024,      // of shared experts
  kExpertBias = 2048,      // on experts and router
  kSinks = 4096,           // one number per head
  kRouterBias = 8192,      // balances the experts' load
  kOutputGate = 16384,     // of full attention, unless attn_output_gate says otherwise
  kNoOutputBias = 32768,   // attention_bias is of queries, keys and values only
  kWideExperts = 65536,    // experts as wide as intermediate_size, dense layers as intermediate_size_mlp
  kMlpBias = 1 << 17,      // on the feed-forward network's matrices only
  kNormBias = 1 << 18,     // on norms only
  kHeadBias = 1 << 19,     // unless lm_head_bias says otherwise
  kMultiQuery = 1 << 20,   // one head of keys and values, unless multi_query or new_decoder_architecture says otherwise
  kEmbeddingNorm = 1 << 21,
  kSharedNorm = 1 << 22,       // one norm per layer where attention and feed-forward network lie side by side
  kSideBySide = 1 << 23,       // they do, unless parallel_attn says otherwise
  kOwnHeadNorms = 1 << 24,     // qk_layernorm: each head has weights of its own
  kMorePositions = 1 << 25,    // two rows more in the table of positions
  kServed = 1 << 26,           // the engine's decoder computes it
  kInterleavedGguf = 1 << 27,  // GGUF files hold the two halves of rotary queries and keys in turns
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

struct Architecture {
  std::string_view type;  // model_type
  Trait traits = {};
  int64_t window_pattern = 0;  // one of this many layers has no sliding window; 0: as the config says
  std::string_view gguf = {};  // general.architecture; empty: GGUF files of it are not read
  bool has(Trait trait) const { return (static_cast<unsigned>(traits) & static_cast<unsigned>(trait)) != 0; }
};

// Null: there is no such row.
const Architecture* architecture_of(std::string_view type);
const Architecture* gguf_architecture(std::string_view name);
// "llama, mistral, …", for messages.
std::string served_types();
std::string gguf_types();

}  // namespace ridge::checkpoint

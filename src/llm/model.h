// What follows from a decoder's dimensions alone: parameters, those used per token, bytes of weights and of the cache.
// Pure.
#pragma once

#include "checkpoint/model.h"

namespace ridge::llm {

using checkpoint::Attention, checkpoint::AttentionKind, checkpoint::FeedForward, checkpoint::Layers, checkpoint::Model;
using checkpoint::Formats, checkpoint::WeightFormat;

// Number of weights.
struct Parameters {
  double embedding = 0;  // tables of tokens and positions; a token reads one row
  double head = 0;       // matrix to the vocabulary; a tied model shares the embedding's, which counts once in total
  double attention = 0;  // matrices; so are these
  double feed_forward = 0;
  double router = 0;
  double experts = 0;                              // routed
  double experts_used = 0;                         // routed, per token
  double expert_count = 0, experts_per_token = 0;  // of a layer; 0: dense
  double small = 0;                                // norms, biases, convolutions
  double draft = 0;                                // layers of multi-token prediction, beside the total
  double total = 0;
  double active = 0;  // used per token
};
Parameters parameters_of(const Model& model);

// Parameters of one layer.
struct LayerParameters {
  double attention = 0, feed_forward = 0, router = 0, expert = 0, small = 0;  // expert: one
};
LayerParameters parameters_of(const Model& model, const Layers& layers);

// Bytes of all weights as stored: matrices of the layers in their formats, the rest in 16 bits.
double weight_bytes(const Model& model, const Formats& formats);

// Bytes for one sequence of `tokens` tokens, `bits` per value; the states of linear layers are kept in 32 bits.
double cache_bytes(const Model& model, double tokens, double bits);
double cache_bytes(const Attention& attention, double tokens, double bits);
// Growth per token of a sequence that is shorter than every window.
double cache_bytes_per_token(const Model& model, double bits);

// FLOPs of attention for `tokens` new tokens of a sequence with `cached` before them: pairs of tokens that attend, keys
// and values, 2 each.
double attention_flops(const Model& model, double tokens, double cached);

// Average number of experts used by `tokens` tokens that choose independently, experts being of unequal popularity
// (gamma distributed with shape θ): E · (1 − (1 − k/E) · (1 + (tokens − 1)·k/(E·θ))^−θ), at most that of an even
// choice, E · (1 − (1 − k/E)^tokens).
inline constexpr double kExpertPopularity = 1.5;  // θ that fits the kernel measurements best
double touched_experts(double experts, double per_token, double tokens);

}  // namespace ridge::llm

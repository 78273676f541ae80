#include "llm/model.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::llm {
namespace {

constexpr double kStateBits = 32;  // of a linear layer's state, in vLLM and SGLang

double real(int64_t value) { return static_cast<double>(value); }

struct Sizes {
  double matrices = 0, small = 0;
};

Sizes latent(const Attention& a, double hidden) {
  const double heads = real(a.heads), rank = real(a.latent_rank), rope = real(a.rope_dim);
  const double nope = real(a.head_dim) - rope, value = real(a.value_dim), queries = heads * real(a.head_dim);
  Sizes s;
  if (a.query_rank > 0) {
    s.matrices += hidden * real(a.query_rank) + real(a.query_rank) * queries;
    s.small += real(a.query_rank);
  } else {
    s.matrices += hidden * queries;
  }
  s.matrices += hidden * (rank + rope) + rank * heads * (nope + value) + heads * value * hidden;
  s.small += rank;
  if (a.index_heads > 0) {
    const double from = a.query_rank > 0 ? real(a.query_rank) : hidden;
    s.matrices += from * real(a.index_heads * a.index_dim) + hidden * real(a.index_dim + a.index_heads);
    s.small += 2 * real(a.index_dim);
  }
  return s;
}

// Queries, keys, values and the gate's input in one matrix, two numbers per head of values, and the output.
Sizes linear(const Attention& a, double hidden) {
  const double keys = real(a.kv_heads * a.head_dim), values = real(a.heads * a.value_dim);
  Sizes s;
  s.matrices = hidden * (2 * keys + 2 * values) + hidden * 2 * real(a.heads) + values * hidden;
  s.small = (2 * keys + values) * real(a.convolution) + 2 * real(a.heads) + real(a.value_dim);
  return s;
}

Sizes grouped(const Attention& a, double hidden) {
  const double queries = real(a.heads * a.head_dim), keys = real(a.kv_heads * a.head_dim);
  Sizes s;
  s.matrices = hidden * (queries * (a.output_gate ? 2 : 1) + 2 * keys) + queries * hidden;
  if (a.qkv_bias) s.small += queries + 2 * keys;
  if (a.output_bias) s.small += hidden;
  if (a.sinks) s.small += real(a.heads);
  if (a.qk_norm) s.small += 2 * real(a.head_dim);
  if (a.qk_norm_wide) s.small += queries + keys;
  return s;
}

Sizes sizes_of(const Attention& a, double hidden) {
  if (a.kind == AttentionKind::kLatent) return latent(a, hidden);
  return a.kind == AttentionKind::kLinear ? linear(a, hidden) : grouped(a, hidden);
}

}  // namespace

LayerParameters parameters_of(const Model& model, const Layers& layers) {
  const double hidden = real(model.hidden);
  const FeedForward& f = layers.feed_forward;
  const double matrices = f.gated ? 3 : 2;
  const Sizes attention = sizes_of(layers.attention, hidden);
  LayerParameters p;
  p.attention = attention.matrices;
  p.feed_forward = matrices * hidden * real(f.intermediate + f.shared_intermediate);
  p.router = hidden * real(f.experts);
  p.expert = f.experts > 0 ? matrices * hidden * real(f.expert_intermediate) : 0;
  p.small = attention.small + real(model.norms_per_layer) * hidden * (model.norm_bias ? 2 : 1);
  if (f.bias) p.small += (matrices - 1) * real(f.intermediate) + hidden;
  if (f.shared_gate) p.small += hidden;
  if (f.router_bias) p.small += real(f.experts);
  if (f.expert_bias) p.small += real(f.experts) * (1 + (matrices - 1) * real(f.expert_intermediate) + hidden);
  return p;
}

Parameters parameters_of(const Model& model) {
  Parameters p;
  const double hidden = real(model.hidden);
  p.embedding = real(model.vocabulary + model.positions) * hidden;
  p.head = real(model.vocabulary) * hidden;
  p.small = real(model.outer_norms) * hidden * (model.norm_bias ? 2 : 1) + (model.head_bias ? p.head / hidden : 0);
  for (const Layers& group : model.layers) {
    const LayerParameters layer = parameters_of(model, group);
    const double count = real(group.count);
    p.attention += count * layer.attention;
    p.feed_forward += count * layer.feed_forward;
    p.router += count * layer.router;
    p.experts += count * layer.expert * real(group.feed_forward.experts);
    p.experts_used += count * layer.expert * real(group.feed_forward.experts_per_token);
    p.small += count * layer.small;
    p.expert_count = std::max(p.expert_count, real(group.feed_forward.experts));
    p.experts_per_token = std::max(p.experts_per_token, real(group.feed_forward.experts_per_token));
  }
  const double tables = p.embedding + (model.tied_embeddings ? 0 : p.head);
  const double always = tables + p.attention + p.feed_forward + p.router + p.small;
  p.total = always + p.experts;
  p.active = always + p.experts_used;
  if (model.draft_layers > 0 && !model.layers.empty()) {
    const Layers& last = model.layers.back();
    const LayerParameters layer = parameters_of(model, last);
    // Beside a layer, the matrix that joins the token's embedding to the hidden state, and three norms.
    p.draft = real(model.draft_layers) *
              (layer.attention + layer.feed_forward + layer.router + layer.expert * real(last.feed_forward.experts) +
               layer.small + 2 * hidden * hidden + 3 * hidden);
  }
  return p;
}

double weight_bytes(const Model& model, const Formats& formats) {
  const Parameters p = parameters_of(model);
  const double matrices = p.attention * bits_of(formats.attention) + p.feed_forward * bits_of(formats.feed_forward) +
                          p.experts * bits_of(formats.experts);
  return (matrices + (p.total - p.attention - p.feed_forward - p.experts) * other_bits_of(formats.attention)) / 8;
}

double cache_bytes(const Attention& a, double tokens, double bits) {
  switch (a.kind) {
    case AttentionKind::kLatent:
      // The keys of an indexer are kept in 8 bits, with a scale of 32 per 128.
      return tokens * (real(a.latent_rank + a.rope_dim) * bits + real(a.index_dim) * 8.25) / 8;
    case AttentionKind::kLinear:
      return real(a.heads * a.value_dim * a.head_dim) * kStateBits / 8 +
             real(2 * a.kv_heads * a.head_dim + a.heads * a.value_dim) * real(a.convolution - 1) * 16 / 8;
    case AttentionKind::kWindow: tokens = std::min(tokens, real(a.window)); [[fallthrough]];
    case AttentionKind::kFull: break;
  }
  return tokens * 2 * real(a.kv_heads * a.head_dim) * bits / 8;
}

double cache_bytes(const Model& model, double tokens, double bits) {
  double bytes = 0;
  for (const Layers& group : model.layers) bytes += real(group.count) * cache_bytes(group.attention, tokens, bits);
  return bytes;
}

double cache_bytes_per_token(const Model& model, double bits) {
  double bytes = 0;
  for (const Layers& group : model.layers)
    if (group.attention.kind != AttentionKind::kLinear)
      bytes += real(group.count) * cache_bytes(group.attention, 1, bits);
  return bytes;
}

double attention_flops(const Model& model, double tokens, double cached) {
  double flops = 0;
  for (const Layers& group : model.layers) {
    const Attention& a = group.attention;
    if (a.kind == AttentionKind::kLinear) continue;
    double pairs = tokens * cached + tokens * (tokens + 1) / 2;
    // A token sees at most the window, or the tokens that an indexer has chosen.
    const double most = a.kind == AttentionKind::kWindow ? real(a.window) : real(a.index_top);
    if (most > 0) {
      const double growing = std::clamp(most - cached, 0.0, tokens);
      pairs = growing * cached + growing * (growing + 1) / 2 + (tokens - growing) * most;
    }
    flops += real(group.count) * 2 * real(a.heads * (a.head_dim + a.value_dim)) * pairs;
  }
  return flops;
}

double touched_experts(double experts, double per_token, double tokens) {
  if (experts <= 0) return 0;
  tokens = std::max(tokens, 1.0);
  const double even = 1 - std::pow(1 - per_token / experts, tokens);
  const double uneven =
      1 - (1 - per_token / experts) *
              std::pow(1 + (tokens - 1) * per_token / (experts * kExpertPopularity), -kExpertPopularity);
  return experts * std::min(even, uneven);
}

}  // namespace ridge::llm

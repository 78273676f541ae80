// Attention: scores Q·Kᵀ and their sum over V are multiply-adds; each score is scaled (1), masked (1 if there is a
// mask), capped (3 if requested) and goes through a softmax (5). The counts cover all pairs of query and key, like
// published ones; the needed FLOPs of causal attention only the visible pairs.
#include <algorithm>

#include "cost/rules.h"

namespace ridge::cost {
namespace {

struct Extent {
  double batch = 0;
  double heads = 0;
  double queries = 0;      // per sequence
  double keys = 0;         // with the cached ones
  double width = 0;        // of the queries, all heads
  double value_width = 0;  // of the result, all heads
};

// Pairs left by a causal mask: query i sees the keys up to i + past.
double causal_pairs(double queries, double keys, double past) {
  double rows_cut = std::clamp(keys - past - 1, 0.0, queries);  // rows that do not see all keys
  double seen = rows_cut * (past + 1) + rows_cut * (rows_cut - 1) / 2;
  return std::min(seen + (queries - rows_cut) * keys, queries * keys);
}

void attend(Context& context, const Extent& e, double pairs_needed, double per_score) {
  double pairs = e.queries * e.keys;
  context.multiply_adds(e.batch * pairs * (e.width + e.value_width),
                        e.batch * std::min(pairs_needed, pairs) * (e.width + e.value_width));
  context.add_flops(e.batch * e.heads * pairs * per_score);
}

double dimension(const Shape& shape, size_t i) { return i < shape.size() ? static_cast<double>(shape[i]) : 0; }

// ai.onnx: Q, K, V are [batch, heads, length, size] or [batch, length, heads·size]; mask 3, past key 4.
void onnx_attention(Context& context, double) {
  const Shape *q = context.input_shape(0), *k = context.input_shape(1), *v = context.input_shape(2);
  if (q == nullptr || k == nullptr || v == nullptr) return;
  bool split = q->size() == 4;
  if ((!split && q->size() != 3) || k->size() != q->size() || v->size() != q->size()) return context.mark_unknown();
  Extent e;
  e.batch = dimension(*q, 0);
  e.heads = split ? dimension(*q, 1) : static_cast<double>(context.integer("q_num_heads", 1));
  e.queries = dimension(*q, split ? 2 : 1);
  double key_heads = split ? dimension(*k, 1) : static_cast<double>(context.integer("kv_num_heads", 1));
  const Shape* cached = context.input_shape(4);
  double past = cached != nullptr ? dimension(*cached, 2) : 0;
  e.keys = dimension(*k, split ? 2 : 1) + past;
  e.width = split ? e.heads * dimension(*q, 3) : dimension(*q, 2);
  e.value_width = e.heads * (split ? dimension(*v, 3) : dimension(*v, 2) / std::max(key_heads, 1.0));
  bool causal = context.integer("is_causal", 0) != 0;
  double per_score = 6 + (context.has_input(3) ? 1 : 0) + (context.number("softcap", 0) != 0 ? 3 : 0);
  attend(context, e, causal ? causal_pairs(e.queries, e.keys, past) : e.queries * e.keys, per_score);
}

// com.microsoft.Attention: projects [batch, length, hidden] by weights [hidden, q + k + v] first; past is
// [2, batch, heads, length, size].
void projecting_attention(Context& context, size_t past_input, size_t bias_input) {
  const Shape *x = context.input_shape(0), *w = context.input_shape(1), *y = context.output_shape(0);
  if (x == nullptr || w == nullptr || y == nullptr) return;
  if (x->size() != 3 || w->size() != 2 || y->size() != 3) return context.mark_unknown();
  Extent e;
  e.batch = dimension(*x, 0);
  e.heads = static_cast<double>(context.integer("num_heads", 1));
  e.queries = dimension(*x, 1);
  const Shape* cached = context.input_shape(past_input);
  double past = cached != nullptr ? dimension(*cached, 3) : 0;
  e.keys = e.queries + past;
  e.value_width = dimension(*y, 2);
  e.width = (dimension(*w, 1) - e.value_width) / 2;
  context.multiply_adds(e.batch * e.queries * dimension(*w, 0) * dimension(*w, 1));
  if (context.has_input(2)) context.add_flops(e.batch * e.queries * dimension(*w, 1));
  bool causal = context.integer("unidirectional", 0) != 0;
  attend(context, e, causal ? causal_pairs(e.queries, e.keys, past) : e.queries * e.keys,
         6 + (context.has_input(bias_input) ? 1 : 0));
}

void microsoft_attention(Context& context, double) { projecting_attention(context, 4, 5); }

void quantised_attention(Context& context, double) {
  context.work.cost.precision = Precision::kInt8;
  projecting_attention(context, 8, SIZE_MAX);
}

// Length of keys given as [batch, length, width], [batch, length, heads, 2, size] or [batch, heads, length, size].
double key_length(const Shape& key) { return dimension(key, key.size() == 4 ? 2 : 1); }

// com.microsoft.MultiHeadAttention: already projected; keys and values may be packed with the queries.
void multi_head_attention(Context& context, double) {
  const Shape *q = context.input_shape(0), *y = context.output_shape(0);
  if (q == nullptr || y == nullptr || q->size() < 3 || y->size() != 3) return;
  Extent e;
  e.batch = dimension(*q, 0);
  e.heads = static_cast<double>(context.integer("num_heads", 1));
  e.queries = dimension(*q, 1);
  e.value_width = dimension(*y, 2);
  e.width = q->size() == 5 ? dimension(*q, 2) * dimension(*q, 4) : dimension(*q, 2);
  const Shape* key = context.input_shape(1);
  if (context.has_input(1) && key == nullptr) return;
  e.keys = key != nullptr ? key_length(*key) : e.queries;
  const Shape* cached = context.input_shape(6);
  double past = cached != nullptr ? dimension(*cached, 2) : 0;
  e.keys += past;
  if (context.has_input(3)) context.add_flops(e.batch * e.queries * e.width * 3);
  bool causal = context.integer("unidirectional", 0) != 0;
  attend(context, e, causal ? causal_pairs(e.queries, e.keys, past) : e.queries * e.keys,
         6 + (context.has_input(5) ? 1 : 0));
}

// com.microsoft.GroupQueryAttention: causal; fewer key than query heads; the cache may exceed the used length, so only
// the pairs among the new tokens are certain.
void group_query_attention(Context& context, double) {
  const Shape *q = context.input_shape(0), *y = context.output_shape(0);
  if (q == nullptr || y == nullptr || y->size() != 3) return;
  Extent e;
  e.batch = dimension(*q, 0);
  e.heads = static_cast<double>(context.integer("num_heads", 1));
  e.queries = dimension(*q, 1);
  e.width = e.value_width = dimension(*y, 2);
  const Shape *present = context.output_shape(1), *cached = context.input_shape(3);
  e.keys = present != nullptr ? dimension(*present, 2) : e.queries + (cached != nullptr ? dimension(*cached, 2) : 0);
  attend(context, e, causal_pairs(e.queries, e.queries, 0), 6 + (context.number("softcap", 0) != 0 ? 3 : 0));
}

// Per token and head the state [dk, dv] is updated by an outer product and read by the query; the delta rule reads it
// by the key as well. Decay and β: one per element of the state.
void linear_attention(Context& context, double) {
  const Shape *q = context.input_shape(0), *k = context.input_shape(1), *v = context.input_shape(2);
  if (q == nullptr || k == nullptr || v == nullptr || q->size() != 3 || k->size() != 3 || v->size() != 3) return;
  double heads = static_cast<double>(context.integer("kv_num_heads", 1));
  double query_heads = static_cast<double>(context.integer("q_num_heads", 1));
  double state = dimension(*k, 2) / heads * (dimension(*v, 2) / heads);
  double tokens = dimension(*q, 0) * dimension(*q, 1);
  std::string rule = context.text("update_rule");
  bool delta = rule.ends_with("delta"), gated = rule.starts_with("gated");
  context.multiply_adds(tokens * state * (heads * (delta ? 2 : 1) + query_heads), 0);
  context.add_flops(tokens * state * heads * (gated ? 1 : 0));
}

constexpr Rule kAttentionRules[] = {
    {kOnnx, "Attention", onnx_attention},
    {kOnnx, "LinearAttention", linear_attention},
    {kOnnx, "RotaryEmbedding", per_input_element, 3},  // x·cos − y·sin
    {kMicrosoft, "Attention", microsoft_attention},
    {kMicrosoft, "QAttention", quantised_attention},
    {kMicrosoft, "MultiHeadAttention", multi_head_attention},
    {kMicrosoft, "GroupQueryAttention", group_query_attention},
};

}  // namespace

std::span<const Rule> attention_rules() { return kAttentionRules; }

}  // namespace ridge::cost

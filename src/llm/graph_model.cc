#include "llm/graph_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/operators.h"

namespace ridge::llm {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool is_past(const TensorSpec& input) { return input.name.starts_with("past"); }

// A cache of keys and values, or of both stacked: "past_0" of [2, batch, heads, tokens, head dimension].
struct Cache {
  double values_per_token = 0;
  DataType type = DataType::kFp16;
};

Result<Cache> cache_of(const model::Graph& graph) {
  Cache cache;
  for (const model::GraphInput& input : graph.input_specs) {
    const TensorSpec& spec = input.spec;
    if (!is_past(spec) || spec.shape.size() < 4) continue;
    if (contains(spec.name, "encoder") || contains(spec.name, "cross"))
      return Error{Code::kUnsupported,
                   fmt::format("input '{}' is the cache of an encoder-decoder; only decoders can be "
                               "sized",
                               spec.name)};
    int64_t heads = spec.shape[spec.shape.size() - 3], head_dim = spec.shape.back();
    if (heads < 1 || head_dim < 1)
      return Error{
          Code::kInvalid,
          fmt::format("input '{}' {} has a dynamic number of heads or head dimension; expected [batch, heads, tokens, "
                      "head dimension]; give it by --shape, or the dimensions by --llm",
                      spec.name, shape_text(spec.shape))};
    double stacked = spec.shape.size() == 5 ? static_cast<double>(std::max<int64_t>(spec.shape.front(), 1)) : 1;
    cache.values_per_token += stacked * static_cast<double>(heads * head_dim);
    cache.type = spec.type;
  }
  if (cache.values_per_token > 0) return cache;
  return Error{Code::kInvalid,
               "no input holds keys and values of the past (past_key_values.0.key …); a decoder exported "
               "with its cache is needed, or its dimensions by --llm"};
}

double elements(const model::TensorInfo& tensor) {
  if (!tensor.shape) return 0;
  return static_cast<double>(element_count(*tensor.shape).value_or(0));
}

// The largest table that rows are looked up in.
double embedding_of(const model::Graph& graph) {
  double largest = 0;
  for (const model::Node& node : graph.nodes) {
    const bool looks_up = cost::operator_of(node.domain, node.op).is(cost::Trait::kLooksUp);
    if (!looks_up || node.inputs.empty() || node.inputs[0] < 0) continue;
    const model::TensorInfo& table = graph.tensors[static_cast<size_t>(node.inputs[0])];
    if (table.role == model::TensorRole::kWeight && table.shape && table.shape->size() == 2)
      largest = std::max(largest, elements(table));
  }
  return largest;
}

// Weights with that many elements: the table, and the head if it is stored separately.
int64_t weights_of_size(const model::Graph& graph, double size) {
  return std::count_if(graph.tensors.begin(), graph.tensors.end(), [&](const model::TensorInfo& tensor) {
    return tensor.role == model::TensorRole::kWeight && elements(tensor) == size;
  });
}

// Query heads per key/value head, if a single attention node states it; else 1.
double heads_per_kv_head(const model::Graph& graph) {
  for (const model::Node& node : graph.nodes) {
    double heads = static_cast<double>(model::attribute_or<int64_t>(node, "num_heads", 0));
    double kv_heads = static_cast<double>(model::attribute_or<int64_t>(node, "kv_num_heads", 0));
    if (heads > 0 && kv_heads > 0) return heads / kv_heads;
  }
  return 1;
}

}  // namespace

Result<GraphModel> model_of_graph(const model::Graph& graph, const std::string& name) {
  RIDGE_ASSIGN(Cache cache, cache_of(graph));
  GraphModel result;
  Model& model = result.model;
  model.name = name;
  const double ratio = heads_per_kv_head(graph);
  const double width = cache.values_per_token / 2;  // layers · KV heads · head dimension
  Layers all{.count = 1, .attention = {}, .feed_forward = {}};
  all.attention.heads = static_cast<int64_t>(width * ratio);
  all.attention.kv_heads = static_cast<int64_t>(width);
  all.attention.head_dim = all.attention.value_dim = 1;
  model.layers = {all};
  if (ratio == 1) model.notes.push_back("assumed: as many query heads as key-value heads; more would add arithmetic");
  Parameters& p = result.parameters;
  p.total = p.active = static_cast<double>(graph.parameters);
  p.embedding = std::min(embedding_of(graph), p.total);
  bool tied = p.embedding > 0 && weights_of_size(graph, p.embedding) < 2;
  p.head = p.embedding;
  p.feed_forward = p.total - p.embedding - (tied ? 0 : p.head);  // with attention
  if (p.embedding <= 0)
    model.notes.push_back("no embedding table was recognised: every weight counts as read for every token");
  double bits = p.total > 0 ? 8 * static_cast<double>(graph.weight_bytes) / p.total : 16;
  result.stored = as_stored(bits);
  result.kv_bits = 8 * static_cast<double>(data_type_size(cache.type));
  return result;
}

}  // namespace ridge::llm

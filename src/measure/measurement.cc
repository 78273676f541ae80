#include "measure/measurement.h"

#include <nlohmann/json.hpp>

namespace ridge::measure {
namespace {

Json layer_to_json(const Layer& layer) {
  return {{"name", layer.name},
          {"op", layer.op},
          {"ms", layer.ms},
          {"flops", layer.flops},
          {"bytes", layer.bytes},
          {"flops_per_s", layer.flops_per_s},
          {"bytes_per_s", layer.bytes_per_s},
          {"bound_ms", layer.bound_ms},
          {"percent_of_limit", layer.percent_of_limit},
          {"limiter", std::string(cost::limiter_name(layer.limiter))},
          {"has_rule", layer.has_rule},
          {"kernel", layer.kernel}};
}

cost::Limiter limiter_from_name(std::string_view name) {
  for (cost::Limiter limiter : {cost::Limiter::kCompute, cost::Limiter::kMemory})
    if (cost::limiter_name(limiter) == name) return limiter;
  return cost::Limiter::kUnknown;
}

// Reads members into variables; the first error is kept.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  template <typename T>
  void read(const char* key, T& into) {
    if (!error_.ok()) return;
    if constexpr (std::is_same_v<T, int>) {
      int64_t wide = into;
      read(key, wide);
      into = static_cast<int>(wide);
    } else {
      Result<T> member = json_member_or<T>(json_, key, into);
      if (member)
        into = std::move(*member);
      else
        error_ = member.error();
    }
  }
  void require_object() {
    if (!json_.is_object()) error_ = Error{Code::kInvalid, "expected a JSON object"};
  }
  const Status& status() const { return error_; }

 private:
  const Json& json_;
  Status error_;
};

Result<Layer> layer_from_json(const Json& json) {
  Layer layer;
  std::string limiter;
  Reader reader(json);
  reader.require_object();
  reader.read("name", layer.name);
  reader.read("op", layer.op);
  reader.read("ms", layer.ms);
  reader.read("flops", layer.flops);
  reader.read("bytes", layer.bytes);
  reader.read("flops_per_s", layer.flops_per_s);
  reader.read("bytes_per_s", layer.bytes_per_s);
  reader.read("bound_ms", layer.bound_ms);
  reader.read("percent_of_limit", layer.percent_of_limit);
  reader.read("limiter", limiter);
  reader.read("has_rule", layer.has_rule);
  reader.read("kernel", layer.kernel);
  RIDGE_TRY(reader.status());
  layer.limiter = limiter_from_name(limiter);
  return layer;
}

Status read_latency(const Json& json, Latency& latency) {
  Reader reader(json);
  reader.require_object();
  reader.read("mean", latency.mean);
  reader.read("p50", latency.p50);
  reader.read("p90", latency.p90);
  reader.read("p95", latency.p95);
  reader.read("p99", latency.p99);
  reader.read("min", latency.min);
  reader.read("max", latency.max);
  return reader.status();
}

Status read_stages(const Json& json, Stages& stages) {
  Reader reader(json);
  reader.require_object();
  reader.read("load", stages.load);
  reader.read("first_run", stages.first_run);
  reader.read("input", stages.input);
  reader.read("compute", stages.compute);
  reader.read("output", stages.output);
  return reader.status();
}

Status read_layers(const Json& json, std::vector<Layer>& layers) {
  if (!json.is_array()) return Error{Code::kInvalid, "expected an array"};
  for (const Json& item : json) {
    RIDGE_ASSIGN(Layer layer, layer_from_json(item));
    layers.push_back(std::move(layer));
  }
  return {};
}

Status read_limits(const Json& json, std::vector<cost::DeviceLimits::Basis>& limits) {
  if (!json.is_array()) return Error{Code::kInvalid, "expected an array"};
  for (const Json& item : json) {
    RIDGE_ASSIGN(cost::DeviceLimits::Basis basis, cost::basis_from_json(item));
    limits.push_back(std::move(basis));
  }
  return {};
}

Status read_energy(const Json& json, Energy& energy) {
  RIDGE_ASSIGN(energy.counters, json_member_or<std::string>(json, "counters", ""));
  const auto number = [&](const char* key, std::optional<double>& into) {
    if (auto found = json.find(key); found != json.end() && found->is_number()) into = found->get<double>();
  };
  number("power_w", energy.power_w);
  number("joules_per_row", energy.per_row_j);
  return {};
}

void read_texts(const Json& json, std::vector<std::string>& into) {
  for (const Json& text : json)
    if (text.is_string()) into.push_back(text.get<std::string>());
}

const Json& member_or_null(const Json& json, const char* key) {
  static const Json kNull;
  auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

}  // namespace

Json to_json(const Energy& energy) {
  return {{"counters", energy.counters},
          {"power_w", energy.power_w ? Json(*energy.power_w) : Json()},
          {"joules_per_row", energy.per_row_j ? Json(*energy.per_row_j) : Json()},
          {"origin", energy.per_row_j ? Json(origin_name(Origin::kMeasured)) : Json()}};
}

Json to_json(const Measurement& m) {
  const Latency& l = m.latency_ms;
  const Stages& s = m.stages_ms;
  Json layers = Json::array();
  for (const Layer& layer : m.layers) layers.push_back(layer_to_json(layer));
  Json limits = Json::array();
  for (const cost::DeviceLimits::Basis& basis : m.limits) limits.push_back(cost::to_json(basis));
  return {{"model", m.model},
          {"engine", m.engine},
          {"engine_version", m.engine_version},
          {"device", m.device},
          {"precision", std::string(precision_name(m.precision))},
          {"executed", m.executed},
          {"threads", m.threads},
          {"instances", m.instances},
          {"concurrency", m.concurrency},
          {"batch", m.batch},
          {"latency_ms",
           {{"mean", l.mean},
            {"p50", l.p50},
            {"p90", l.p90},
            {"p95", l.p95},
            {"p99", l.p99},
            {"min", l.min},
            {"max", l.max}}},
          {"throughput_per_s", m.throughput_per_s},
          {"ci95_percent", m.ci95_percent},
          {"samples", m.samples},
          {"converged", m.converged},
          {"interrupted", m.interrupted},
          {"stages_ms",
           {{"load", s.load},
            {"first_run", s.first_run},
            {"input", s.input},
            {"compute", s.compute},
            {"output", s.output}}},
          {"bound_ms", m.bound_ms},
          {"percent_of_limit", m.percent_of_limit},
          {"limiter", std::string(cost::limiter_name(m.limiter))},
          {"limits", limits},
          {"limit_notes", m.limit_notes},
          {"energy", to_json(m.energy)},
          {"flops", m.flops},
          {"memory_bytes", {{"rss_delta", m.rss_delta_bytes}}},
          {"layers", std::move(layers)},
          {"without_rule", m.without_rule},
          {"advice_id", m.advice.id},
          {"advice", m.advice.sentence}};
}

Result<Measurement> measurement_from_json(const Json& json) {
  Measurement m;
  std::string precision = "fp32", limiter;
  Reader reader(json);
  reader.require_object();
  reader.read("model", m.model);
  reader.read("engine", m.engine);
  reader.read("engine_version", m.engine_version);
  reader.read("device", m.device);
  reader.read("precision", precision);
  reader.read("executed", m.executed);
  reader.read("threads", m.threads);
  reader.read("instances", m.instances);
  reader.read("concurrency", m.concurrency);
  reader.read("batch", m.batch);
  reader.read("throughput_per_s", m.throughput_per_s);
  reader.read("ci95_percent", m.ci95_percent);
  reader.read("samples", m.samples);
  reader.read("converged", m.converged);
  reader.read("interrupted", m.interrupted);
  reader.read("bound_ms", m.bound_ms);
  reader.read("percent_of_limit", m.percent_of_limit);
  reader.read("limiter", limiter);
  reader.read("flops", m.flops);
  reader.read("advice_id", m.advice.id);
  reader.read("advice", m.advice.sentence);
  RIDGE_TRY(reader.status());
  RIDGE_ASSIGN(m.precision, precision_from_name(precision));
  m.limiter = limiter_from_name(limiter);
  RIDGE_TRY(read_latency(member_or_null(json, "latency_ms"), m.latency_ms));
  RIDGE_TRY(read_stages(member_or_null(json, "stages_ms"), m.stages_ms));
  if (json.contains("memory_bytes")) {
    RIDGE_ASSIGN(m.rss_delta_bytes, json_member_or<int64_t>(json["memory_bytes"], "rss_delta", 0));
  }
  if (json.contains("layers")) RIDGE_TRY(read_layers(json["layers"], m.layers));
  if (json.contains("limits")) RIDGE_TRY(read_limits(json["limits"], m.limits));
  if (json.contains("energy")) RIDGE_TRY(read_energy(json["energy"], m.energy));
  read_texts(member_or_null(json, "limit_notes"), m.limit_notes);
  read_texts(member_or_null(json, "without_rule"), m.without_rule);
  return m;
}

}  // namespace ridge::measure

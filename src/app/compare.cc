#include "app/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/kept.h"
#include "base/schema.h"
#include "base/units.h"
#include "client/server_measurement.h"
#include "limits/accelerator/device_measurement.h"
#include "measure/difference.h"
#include "measure/measurement.h"

namespace ridge::app {
namespace {

using measure::Measurement;
using tune::FigureChange;

constexpr double kShownConfidence = 0.95;

std::string settings_of(const Measurement& m) {
  return fmt::format("batch {}, {} × {} threads, {} callers", m.batch, m.instances, m.threads, m.concurrency);
}

std::string load_of(const Measurement& m) {
  return m.load ? format_rate(m.load->rate_per_s, "requests") : std::string("a closed loop");
}

std::string shapes_of(const Measurement& m) {
  std::string text;
  for (const auto& [name, shape] : m.shapes) text += (text.empty() ? "" : " ") + name + shape_text(shape);
  return text;
}

std::string machine_of(const About& about) { return about.machine ? about.machine->id : "an unknown machine"; }

// Adds a caveat where the two are not the same.
void differ(Comparison& comparison, const char* id, const char* what, const std::string& then,
            const std::string& today) {
  if (then != today) comparison.caveats.push_back({id, fmt::format("{}: {} then, {} now", what, then, today)});
}

// Other work slows one run more than another, which no interval within a run covers. Results are then not judged.
void note_disturbances(Comparison& comparison, const std::optional<machine::Disturbance>& then,
                       const std::optional<machine::Disturbance>& today) {
  for (const auto& [disturbance, when] : {std::pair(&then, "then"), std::pair(&today, "now")})
    if (machine::disturbed(*disturbance)) {
      comparison.caveats.push_back({"disturbed", fmt::format("{}: {}", when, machine::sentence(**disturbance))});
      comparison.unjudged = "other work kept the machine busy: measure again when it is quiet";
    }
}

void add_caveats(const Measurement& then, const Measurement& today, Comparison& comparison) {
  differ(comparison, "other-machine", "another machine", machine_of(comparison.before), machine_of(comparison.now));
  if (!then.model_digest.empty() && !today.model_digest.empty() && then.model_digest != today.model_digest)
    comparison.caveats.push_back(
        {"other-model", fmt::format("the model files differ: {} and {}", then.model, today.model)});
  differ(comparison, "other-shapes", "other shapes of the inputs", shapes_of(then), shapes_of(today));
  differ(comparison, "other-precision", "another precision", std::string(precision_name(then.precision)),
         std::string(precision_name(today.precision)));
  differ(comparison, "other-engine", "another engine or device",
         fmt::format("{} {} on {}", then.engine, then.engine_version, then.device),
         fmt::format("{} {} on {}", today.engine, today.engine_version, today.device));
  differ(comparison, "other-settings", "other settings", settings_of(then), settings_of(today));
  differ(comparison, "other-load", "another load", load_of(then), load_of(today));
  note_disturbances(comparison, then.disturbance, today.disturbance);
}

// A figure of a bench: its value, and its difference in logarithms at a confidence.
struct Speed {
  const char *id, *what, *unit;
  double (*value)(const Measurement&);
  measure::MeanDifference (*difference)(const Measurement&, const Measurement&, double confidence);
  Better better = Better::kLow;
  bool decides = false;  // whether the answer is slower
};
template <int kPercent>
measure::MeanDifference of_percentile(const Measurement& then, const Measurement& today, double confidence) {
  return percentile_difference(then, today, kPercent, confidence);
}
// A closed loop's rate varies as its mean latency does.
measure::MeanDifference of_rate(const Measurement& then, const Measurement& today, double confidence) {
  return {std::log(today.throughput_per_s / then.throughput_per_s),
          mean_latency_difference(then, today, confidence).half_width};
}
constexpr Speed kSpeeds[] = {
    {"throughput", "throughput", "rows/s", [](const Measurement& m) { return m.throughput_per_s; }, of_rate,
     Better::kHigh},
    {"mean", "mean latency", "ms", [](const Measurement& m) { return m.latency_ms.mean; },
     measure::mean_latency_difference, Better::kLow, true},
    {"p50", "p50", "ms", [](const Measurement& m) { return m.latency_ms.p50; }, of_percentile<50>, Better::kLow, true},
    {"p90", "p90", "ms", [](const Measurement& m) { return m.latency_ms.p90; }, of_percentile<90>},
    {"p99", "p99", "ms", [](const Measurement& m) { return m.latency_ms.p99; }, of_percentile<99>, Better::kLow, true}};

struct Once {
  const char *id, *what, *unit;
  double (*value)(const Measurement&);
};
constexpr Once kOnce[] = {{"load", "opening the session", "ms", [](const Measurement& m) { return m.stages_ms.load; }},
                          {"first-run", "first run", "ms", [](const Measurement& m) { return m.stages_ms.first_run; }},
                          {"memory", "growth of resident memory", "B",
                           [](const Measurement& m) { return static_cast<double>(m.rss_delta_bytes); }}};

// The row as it is shown, and whether it is worse by more than was accepted.
bool judge(const measure::MeanDifference& shown, const measure::MeanDifference& strict, Better better,
           double accepted_percent, FigureChange& row) {
  FigureChange strictly = row;
  tune::judge(strict, better, accepted_percent, strictly);
  tune::judge(shown, better, 0, row);
  return strictly.verdict == tune::Change::kRegressed;
}

// `confidence` of the answer whether it is slower.
FigureChange of_speed(const Speed& speed, const Measurement& then, const Measurement& today, double accepted_percent,
                      double confidence, Comparison& comparison) {
  FigureChange row = tune::figure_of(speed.id, speed.what, speed.unit, speed.value(then), speed.value(today));
  if (row.before <= 0 || row.now <= 0) return tune::set_aside(std::move(row), "not measured");
  if (std::string_view(speed.id) == "throughput" && (then.load || today.load))
    return tune::set_aside(std::move(row), "given by the load");
  if (!comparison.unjudged.empty()) return tune::set_aside(std::move(row), "not judged: a busy machine");
  const measure::MeanDifference shown = speed.difference(then, today, kShownConfidence);
  const bool worse = judge(shown, speed.difference(then, today, confidence), speed.better, accepted_percent, row);
  comparison.slower |= speed.decides && worse;
  return row;
}

// By name and operator; several of one name in the order in which they ran.
std::vector<LayerChange> layers_of(const Measurement& then, const Measurement& today) {
  if (then.layers.empty() || today.layers.empty()) return {};
  std::multimap<std::pair<std::string, std::string>, double> before;
  std::vector<measure::Layer> ran = then.layers;
  std::ranges::stable_sort(ran, {}, &measure::Layer::position);
  for (const measure::Layer& layer : ran) before.emplace(std::pair(layer.name, layer.op), layer.ms);
  ran = today.layers;
  std::ranges::stable_sort(ran, {}, &measure::Layer::position);
  std::vector<LayerChange> changes;
  for (const measure::Layer& layer : ran) {
    const auto found = before.find({layer.name, layer.op});
    changes.push_back({layer.name, layer.op, found == before.end() ? 0 : found->second, layer.ms});
    if (found != before.end()) before.erase(found);
  }
  for (const auto& [key, ms] : before) changes.push_back({key.first, key.second, ms, 0});
  std::ranges::stable_sort(changes, std::ranges::greater(),
                           [](const LayerChange& layer) { return std::abs(layer.now_ms - layer.before_ms); });
  return changes;
}

// Without an interval nothing could have been found slower.
void note_blindness(Comparison& comparison) {
  if (comparison.unjudged.empty() && std::ranges::none_of(comparison.figures, [](const FigureChange& row) {
        return row.verdict != tune::Change::kNotComparable;
      }))
    comparison.unjudged = "too few samples for an interval: measure for longer";
}

Status compare_benches(const Json& before, const Json& now, double accepted_percent, Comparison& comparison) {
  RIDGE_ASSIGN(const Measurement then, from_json<Measurement>(before));
  RIDGE_ASSIGN(const Measurement today, from_json<Measurement>(now));
  add_caveats(then, today, comparison);
  for (const Speed& speed : kSpeeds)
    comparison.figures.push_back(of_speed(speed, then, today, accepted_percent, tune::kConfidence, comparison));
  for (const Once& once : kOnce)
    comparison.figures.push_back(tune::set_aside(
        tune::figure_of(once.id, once.what, once.unit, once.value(then), once.value(today)), "measured once"));
  note_blindness(comparison);
  comparison.layers = layers_of(then, today);
  return {};
}

// ------------------------------------------------------------------------------------------------- of bench URL

// The requests of one load, as a measurement of a model has its runs.
Measurement as_measurement(const client::Point& point) {
  Measurement measured;
  measured.latency_ms = point.latency_ms;
  measured.throughput_per_s = point.rows_per_s;
  measured.ci95_percent = point.ci95_percent;
  measured.samples = point.samples;
  measured.histogram = point.histogram;
  measured.load = point.load;
  return measured;
}

std::string load_of(const client::Point& point) {
  return point.rate_per_s ? "at " + format_rate(*point.rate_per_s, "requests")
                          : "at " + counted(point.concurrency, "caller");
}

std::string request_of(const client::ServerMeasurement& m) {
  if (m.token_load)
    return fmt::format("prompts of {} to {} tokens, answers of {} to {}{}", m.token_load->prompt.low,
                       m.token_load->prompt.high, m.token_load->output.low, m.token_load->output.high,
                       m.token_load->streaming ? ", streamed" : "");
  std::string text = fmt::format("batch {} as {}", m.batch, name_of(names_of(m.payload), m.payload));
  for (const client::RequestInput& input : m.inputs) text += fmt::format(", {}{}", input.name, shape_text(input.shape));
  return text;
}

void add_caveats(const client::ServerMeasurement& then, const client::ServerMeasurement& today,
                 Comparison& comparison) {
  differ(comparison, "other-machine", "another machine of the client", machine_of(comparison.before),
         machine_of(comparison.now));
  differ(comparison, "other-server", "another server", then.server + " " + then.server_version + " at " + then.url,
         today.server + " " + today.server_version + " at " + today.url);
  differ(comparison, "other-model", "another model", then.model + " version " + then.model_version,
         today.model + " version " + today.model_version);
  differ(comparison, "other-request", "another request", request_of(then), request_of(today));
  note_disturbances(comparison, then.disturbance, today.disturbance);
}

using PointPair = std::pair<const client::Point*, const client::Point*>;  // then, now: of one load

// The loads that both have, in the order of then. One that only one of them has is a caveat.
std::vector<PointPair> same_loads(const client::ServerMeasurement& then, const client::ServerMeasurement& today,
                                  std::vector<Caveat>& caveats) {
  std::vector<PointPair> pairs;
  std::vector<bool> taken(today.points.size(), false);
  const auto only = [&](const char* when, const client::Point& point) {
    caveats.push_back({"other-load", fmt::format("only {}: {}", when, load_of(point))});
  };
  for (const client::Point& point : then.points) {
    const size_t before = pairs.size();
    for (size_t i = 0; i < today.points.size() && pairs.size() == before; ++i) {
      const client::Point& other = today.points[i];
      if (taken[i] || other.rate_per_s != point.rate_per_s || other.concurrency != point.concurrency) continue;
      taken[i] = true;
      pairs.emplace_back(&point, &other);
    }
    if (pairs.size() == before) only("then", point);
  }
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i]) only("now", today.points[i]);
  return pairs;
}

// The figures of tokens that have a better way, shown without a verdict: neither file has their intervals.
std::vector<FigureChange> token_changes(const std::optional<client::TokenFigures>& then,
                                        const std::optional<client::TokenFigures>& today) {
  std::vector<FigureChange> rows;
  if (!then || !today) return rows;
  const Json before = json_of(*then), now = json_of(*today);
  for (const Column& column : columns_of(schema_of<client::TokenFigures>())) {
    const Json::json_pointer at(column.member);
    if (column.better == Better::kNeither || !before.contains(at) || !now.contains(at)) continue;
    if (before.at(at).is_number() && now.at(at).is_number())
      rows.push_back(tune::set_aside(
          tune::figure_of(column.id, column.label, column.unit, before.at(at).get<double>(), now.at(at).get<double>()),
          "without an interval"));
  }
  return rows;
}

// "throughput at 4 callers", with the id "callers-4.throughput".
FigureChange of_load(FigureChange row, const client::Point& point) {
  row.id = (point.rate_per_s ? fmt::format("rate-{:g}.", *point.rate_per_s)
                             : fmt::format("callers-{}.", point.concurrency)) +
           row.id;
  row.what += " " + load_of(point);
  return row;
}

// Each of several loads is judged with more confidence, so that all together raise no more false alarms than one.
Status compare_servers(const Json& before, const Json& now, double accepted_percent, Comparison& comparison) {
  RIDGE_ASSIGN(const auto then, from_json<client::ServerMeasurement>(before));
  RIDGE_ASSIGN(const auto today, from_json<client::ServerMeasurement>(now));
  add_caveats(then, today, comparison);
  const std::vector<PointPair> pairs = same_loads(then, today, comparison.caveats);
  if (pairs.empty())
    return Error{Code::kInvalid, "the two have no load in common: give both the same --concurrency or --rate"};
  const double confidence = 1 - (1 - tune::kConfidence) / static_cast<double>(pairs.size());
  for (const auto& [first, second] : pairs) {
    for (const Speed& speed : kSpeeds)
      comparison.figures.push_back(of_load(
          of_speed(speed, as_measurement(*first), as_measurement(*second), accepted_percent, confidence, comparison),
          *first));
    for (FigureChange& row : token_changes(first->tokens, second->tokens))
      comparison.figures.push_back(of_load(std::move(row), *first));
  }
  note_blindness(comparison);
  if (then.search && today.search && then.search->p99_ms == today.search->p99_ms)
    comparison.figures.push_back(tune::set_aside(
        tune::figure_of("highest-rate", fmt::format("highest rate with p99 within {}", format_ms(then.search->p99_ms)),
                        "requests/s", then.search->highest_per_s.value_or(0), today.search->highest_per_s.value_or(0)),
        "found once, without an interval"));
  return {};
}

// -------------------------------------------------------------------------------------------------- of bench device

// A list of its document, and the rate that each row has. Those of a CPU's document are named as a GPU's.
struct RateList {
  std::string list, rate, unit;
};
std::vector<RateList> rate_lists() {
  std::vector<RateList> lists;
  const Json schema = schema_of<limits::accelerator::DeviceMeasurement>();
  for (const auto& [list, rows] : schema.at("properties").items())
    if (const Json::json_pointer of_row("/items/properties"); rows.contains(of_row))
      for (const auto& [name, figure] : rows.at(of_row).items())
        if (figure.value("better", "") == "high") lists.push_back({list, name, figure.at("unit")});
  return lists;
}

// Names the subject of a row: "fp32, 2 threads", "DRAM, read", "host to device, pinned, 64 MiB".
std::string row_name_of(const Json& row) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const char* member : {"precision", "level", "way", "access", "memory", "what"})
    if (const auto found = row.find(member); found != row.end() && found->is_string()) add(found->get<std::string>());
  if (const auto found = row.find("copy_bytes"); found != row.end() && found->is_number())
    add(format_bytes(found->get<double>()));
  if (const auto found = row.find("threads"); found != row.end() && found->is_number_integer())
    add(counted(found->get<int64_t>(), "thread"));
  return text;
}

double number_at(const Json& row, const std::string& member) {
  const auto found = row.find(member);
  return found != row.end() && found->is_number() ? found->get<double>() : 0;
}

// A limit is the best that was reached, and the spread is that of all its bursts: a change within it may be a busy
// machine's.
FigureChange of_rate_row(const RateList& list, const Json& then, const Json& today, double accepted_percent,
                         Comparison& comparison) {
  const std::string name = row_name_of(then);
  FigureChange row = tune::figure_of(fmt::format("{}.{}", list.list, name), name, list.unit, number_at(then, list.rate),
                                     number_at(today, list.rate));
  if (row.before <= 0 || row.now <= 0) return tune::set_aside(std::move(row), "not measured");
  if (!comparison.unjudged.empty()) return tune::set_aside(std::move(row), "not judged: a busy machine");
  const measure::MeanDifference difference = {
      std::log(row.now / row.before),
      std::hypot(number_at(then, "spread_percent"), number_at(today, "spread_percent")) / 100};
  comparison.slower |= judge(difference, difference, Better::kHigh, accepted_percent, row);
  return row;
}

const Json& list_in(const Json& document, const std::string& name) {
  static const Json kNone = Json::array();
  const auto found = document.find(name);
  return found != document.end() && found->is_array() ? *found : kNone;
}

std::string text_at(const Json& document, const char* member) {
  const auto found = document.find(member);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<machine::Disturbance> disturbance_of(const Json& document) {
  const auto found = document.find("disturbance");
  if (found == document.end()) return std::nullopt;
  const Result<machine::Disturbance> read = from_json<machine::Disturbance>(*found);
  return read ? std::optional(*read) : std::nullopt;
}

// Its name; of several GPUs all: "NVIDIA A100, NVIDIA A100".
std::string device_of(const Json& document) {
  std::string names = text_at(document, "device");
  for (const Json& card : list_in(document, "cards")) names += (names.empty() ? "" : ", ") + text_at(card, "name");
  return names;
}

Status compare_devices(const Json& before, const Json& now, double accepted_percent, Comparison& comparison) {
  if (before.contains("cards") != now.contains("cards"))
    return Error{Code::kInvalid, "one is of a device, the other of what several GPUs exchange"};
  differ(comparison, "other-device", "another device", device_of(before), device_of(now));
  differ(comparison, "other-machine", "another machine", machine_of(comparison.before), machine_of(comparison.now));
  note_disturbances(comparison, disturbance_of(before), disturbance_of(now));
  for (const RateList& list : rate_lists()) {
    const Json& others = list_in(now, list.list);
    for (const Json& row : list_in(before, list.list)) {
      const auto same = std::ranges::find(others, row_name_of(row), row_name_of);
      if (same != others.end())
        comparison.figures.push_back(of_rate_row(list, row, *same, accepted_percent, comparison));
    }
  }
  return {};
}

// ---------------------------------------------------------------------------------------------------------- of tune

Status compare_tunings(const Json& before, const Json& now, double accepted_percent, Comparison& comparison) {
  RIDGE_ASSIGN(const tune::Tuning then, from_json<tune::Tuning>(before));
  RIDGE_ASSIGN(const tune::Tuning today, from_json<tune::Tuning>(now));
  differ(comparison, "other-shapes", "other shapes of the inputs", then.shapes, today.shapes);
  comparison.figures = tune::compare(then, today, {.tolerance_percent = accepted_percent});
  comparison.slower = tune::regressed(comparison.figures);
  comparison.unjudged = tune::unjudged_reason(comparison.figures);
  return {};
}

struct Comparer {
  std::string_view verb;
  Status (*compare)(const Json& before, const Json& now, double accepted_percent, Comparison& comparison);
};
constexpr Comparer kComparers[] = {{"bench", compare_benches},
                                   {"bench server", compare_servers},
                                   {"bench device", compare_devices},
                                   {"tune", compare_tunings}};

std::string compared_verbs() {
  std::string text;
  for (const Comparer& row : kComparers) text += (text.empty() ? "" : ", ") + std::string(row.verb);
  return text;
}

}  // namespace

Result<Comparison> compare(const Json& before, const Json& now, double accepted_percent) {
  Comparison comparison;
  comparison.before = about_of(before);
  comparison.now = about_of(now);
  const std::string& verb = comparison.before.command.verb;
  if (verb != comparison.now.command.verb)
    return Error{Code::kInvalid, fmt::format("documents of `ridge {}` and `ridge {}` have nothing to compare", verb,
                                             comparison.now.command.verb)};
  const auto row = std::ranges::find(kComparers, verb, &Comparer::verb);
  if (row == std::end(kComparers))
    return Error{Code::kInvalid,
                 fmt::format("documents of `ridge {}` are not compared; those of {} are", verb, compared_verbs())};
  RIDGE_TRY(row->compare(before, now, accepted_percent, comparison));
  return comparison;
}

}  // namespace ridge::app

#include "measure/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ridge::measure {
namespace {

constexpr int kProcess = 1;

Json named(const char* what, int row, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", kProcess}, {"tid", row}, {"args", {{"name", name}}}};
}

Json span(const std::string& name, const char* category, int row, double begin_us, double us, Json arguments) {
  return {{"name", name}, {"cat", category}, {"ph", "X"},  {"ts", begin_us},
          {"dur", us},    {"pid", kProcess}, {"tid", row}, {"args", std::move(arguments)}};
}

double us_between(TimePoint begin, TimePoint end) { return to_ms(end - begin) * 1e3; }

void add_runs(const std::vector<TimedRun>& runs, Json& events) {
  TimePoint first = TimePoint::max();
  for (const TimedRun& run : runs) first = std::min(first, run.due);
  for (const TimedRun& run : runs) {
    if (run.begin > run.due)
      events.push_back(span("queued", "load", run.caller, us_between(first, run.due), us_between(run.due, run.begin),
                            Json::object()));
    events.push_back(span(run.runs == 1 ? "run" : "runs", "load", run.caller, us_between(first, run.begin),
                          us_between(run.begin, run.end), {{"runs", run.runs}}));
  }
}

void add_layers(std::vector<Layer> layers, int row, Json& events) {
  std::ranges::stable_sort(layers, {}, &Layer::position);
  double total_us = 0;
  for (const Layer& layer : layers) total_us += 1e3 * layer.ms;
  events.push_back(named("thread_name", row, "layers of one run (mean, by the engine's profile)"));
  events.push_back(span("run with profile", "layers", row, 0, total_us, Json::object()));
  double at_us = 0;
  for (const Layer& layer : layers) {
    events.push_back(span(layer.name.empty() ? layer.op : layer.name, "layers", row, at_us, 1e3 * layer.ms,
                          {{"op", layer.op},
                           {"flops", layer.flops},
                           {"bytes", layer.bytes},
                           {"bound_ms", layer.bound_ms},
                           {"percent_of_limit", layer.percent_of_limit}}));
    at_us += 1e3 * layer.ms;
  }
}

}  // namespace

Json chrome_trace(const std::vector<TimedRun>& runs, const Measurement& measured) {
  Json events = Json::array();
  events.push_back(named("process_name", 0, "ridge bench " + measured.model));
  for (int caller = 0; caller < measured.concurrency; ++caller)
    events.push_back(named("thread_name", caller, "caller " + std::to_string(caller)));
  add_runs(runs, events);
  if (!measured.layers.empty()) add_layers(measured.layers, measured.concurrency, events);
  return events;
}

}  // namespace ridge::measure

#include "measure/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ridge::measure {
namespace {

// Events of one load, a process of the trace.
class Events {
 public:
  Events(Json& events, int process, TimePoint first) : events_(events), process_(process), first_(first) {}

  void name(const char* what, int row, const std::string& name) {
    events_.push_back({{"name", what}, {"ph", "M"}, {"pid", process_}, {"tid", row}, {"args", {{"name", name}}}});
  }

  void add(const TracedLoad& load) {
    name("process_name", 0, load.name);
    for (int caller = 0; caller < load.callers; ++caller)
      name("thread_name", caller, "caller " + std::to_string(caller));
    for (const TimedRun& run : load.runs) {
      if (run.begin > run.due)
        span("queued", "load", run.caller, us_between(first_, run.due), us_between(run.due, run.begin), Json::object());
      const std::string what = run.failure != 0 ? load.failure_name(run.failure) : run.runs == 1 ? "run" : "runs";
      span(what, "load", run.caller, us_between(first_, run.begin), us_between(run.begin, run.end),
           {{"runs", run.runs}});
    }
    if (!load.layers.empty()) add_layers(load.layers, load.callers);
  }

 private:
  static double us_between(TimePoint begin, TimePoint end) { return to_ms(end - begin) * 1e3; }

  void span(const std::string& name, const char* category, int row, double begin_us, double us, Json arguments) {
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"ts", begin_us},
                       {"dur", us},
                       {"pid", process_},
                       {"tid", row},
                       {"args", std::move(arguments)}});
  }

  void add_layers(std::vector<Layer> layers, int row) {
    std::ranges::stable_sort(layers, {}, &Layer::position);
    double total_us = 0;
    for (const Layer& layer : layers) total_us += 1e3 * layer.ms;
    name("thread_name", row, "layers of one run (mean, by the engine's profile)");
    span("run with profile", "layers", row, 0, total_us, Json::object());
    double at_us = 0;
    for (const Layer& layer : layers) {
      span(layer.name.empty() ? layer.op : layer.name, "layers", row, at_us, 1e3 * layer.ms,
           {{"op", layer.op},
            {"flops", layer.flops},
            {"bytes", layer.bytes},
            {"bound_ms", layer.bound_ms},
            {"percent_of_limit", layer.percent_of_limit}});
      at_us += 1e3 * layer.ms;
    }
  }

  Json& events_;
  const int process_;
  const TimePoint first_;  // time 0
};

}  // namespace

Json chrome_trace(std::span<const TracedLoad> loads) {
  TimePoint first = TimePoint::max();
  for (const TracedLoad& load : loads)
    for (const TimedRun& run : load.runs) first = std::min(first, run.due);
  Json events = Json::array();
  int process = 0;
  for (const TracedLoad& load : loads) Events(events, ++process, first).add(load);
  return events;
}

}  // namespace ridge::measure

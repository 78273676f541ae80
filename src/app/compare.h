// Two kept results of one verb, figure by figure: what changed, and whether more than chance. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/about.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "tune/regression.h"

namespace ridge::app {

// Why the two may differ beside the program that was measured.
struct Caveat {
  std::string id;  // other-{machine,model,shapes,precision,engine,settings,load}, disturbed; of a
  // server also other-server, other-request; of a device other-device
  std::string sentence;
};
void visit_fields(auto& visit, Is<Caveat> auto& caveat) {
  visit("id", caveat.id);
  visit("sentence", caveat.sentence);
}

// Its time comes from the engine's profile, without an interval.
struct LayerChange {
  std::string name, op;
  double before_ms = 0, now_ms = 0;  // 0: not in that result
};
void visit_fields(auto& visit, Is<LayerChange> auto& layer) {
  visit("name", layer.name);
  visit("op", layer.op);
  visit("before_ms", layer.before_ms);
  visit("now_ms", layer.now_ms);
}

struct Comparison {
  About before, now;
  std::vector<Caveat> caveats;
  std::vector<tune::FigureChange> figures;  // verdict "as before": the difference is within its interval
  std::vector<LayerChange> layers;          // the largest change first; empty unless both have layers
  bool slower = false;                      // significantly, by more than was accepted
  std::string unjudged;                     // why it was not judged; empty if it was
};
void visit_fields(auto& visit, Is<Comparison> auto& comparison) {
  visit("before", comparison.before);
  visit("now", comparison.now);
  visit("caveats", comparison.caveats);
  visit("figures", comparison.figures);
  visit("layers", comparison.layers);
  visit("slower", comparison.slower);
  visit.derived("judged", comparison.unjudged.empty());
}

// `before` and `now`: documents as read_document() returns them, both of one verb: `bench MODEL`, `bench URL` (load by
// load), `bench device`, `tune`. Intervals of a bench have 95 %; a device's figures are judged by the spread of their
// bursts. `slower` accepts changes up to `accepted_percent`, and is judged with tune::kConfidence, over all loads of a
// server together. Errors: documents of other verbs; two servers' without a load in common.
Result<Comparison> compare(const Json& before, const Json& now, double accepted_percent);

}  // namespace ridge::app

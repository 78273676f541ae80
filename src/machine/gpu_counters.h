// Kernel counters of a GPU that matter only by their growth: energy, engine time per process, time that limits lowered
// the clock. Read twice, a tenth of a second apart, and recorded as one text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"
#include "machine/drm_clients.h"

namespace ridge::machine {

struct GpuCounterSamples {
  double elapsed_ns = 0;
  bool complete = false;                             // the processes of all users were seen
  std::map<std::string, std::string> before, after;  // path → text; binary files as hexadecimal digits
  std::vector<DrmClient> clients_before, clients_after;
};
void visit_fields(auto& visit, Is<GpuCounterSamples> auto& samples) {
  visit("elapsed_ns", samples.elapsed_ns);
  visit.optional("complete", samples.complete);
  visit.optional("before", samples.before);
  visit.optional("after", samples.after);
}

// JSON {elapsed_ns, complete, before{path: text}, after{path: text}}; paths as in a Tree. Reads below `root`; call it
// where a driver may hang without harm.
Result<std::string> take_gpu_counters(const std::string& root, Clock& clock = system_clock());
Result<GpuCounterSamples> parse_gpu_counters(std::string_view json);

}  // namespace ridge::machine

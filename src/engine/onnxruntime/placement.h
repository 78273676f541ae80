// The provider of each node in ONNX Runtime. The API that ridge is built against does not report it; the log of a
// session's creation does ("Node placements", level verbose, at least from 1.8 to 1.31).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::engine::onnxruntime {

struct Placement {
  struct OnProvider {
    int nodes = 0;
    std::vector<std::string> listed;  // "Shape (node name)"; where all nodes are on one provider, none
  };
  std::map<std::string, OnProvider> by_provider;  // "CUDAExecutionProvider" → its nodes; empty: not in the log
};

// Collects the log of a session that this thread creates during the object's life. One thread.
class PlacementListener {
 public:
  PlacementListener();
  ~PlacementListener();
  PlacementListener(const PlacementListener&) = delete;
  PlacementListener& operator=(const PlacementListener&) = delete;

  const Placement& placement() const { return placement_; }
  // A message of the log, given to this thread's listener if there is one.
  static void hear(std::string_view message);

 private:
  void take(std::string_view message);

  Placement placement_;
  bool listing_ = false;  // between the heading and the first line that is none of the list
  std::string provider_;  // that the lines now are of
};

// False if the log lists the nodes and none is on that provider.
bool may_compute(const Placement& placement, const std::string& provider);

// "120 nodes on CUDAExecutionProvider, 2 on CPUExecutionProvider: Shape (s), Gather (g)"; those of providers other than
// `main` are listed, `most` of each at most.
std::string placement_text(const Placement& placement, std::string_view main, size_t most = 20);

}  // namespace ridge::engine::onnxruntime

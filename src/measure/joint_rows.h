// Finds out if rows of different requests may run together, by running them. Values show what a graph cannot tell: rows
// that look at each other (softmax over the batch, attention without one), and rows whose results depend on their
// number.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/engine.h"
#include "model/graph.h"

namespace ridge::measure {

struct JointRows {
  int64_t most = 4;                        // rows of a run
  Precision precision = Precision::kFp32;  // in which the engine computes
  std::map<std::string, Shape> shapes =
      {};  // of some inputs, of any number of rows; open dimensions are guessed without
  std::stop_token stop = {};
};

// ok if random rows, run together in several numbers, shapes and companies, give what they give with other rows beside
// them, and what they give alone. With other rows beside them that is the same run but for their values, so that it may
// differ by no more than the same run does when it is repeated. Alone, engines choose other kernels: that may differ by
// their rounding. The error says what differs, or that the model could not be run. `graph` says which integers are
// valid inputs; may be null. Takes two runs of two rows and one of one, and then more for up to half a second. Every
// first dimension of `session` is open.
Status check_joint_rows(engine::Session& session, const model::Graph* graph, const JointRows& how,
                        Clock& clock = system_clock());

}  // namespace ridge::measure

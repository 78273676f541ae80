// Round: the requests that one thread brings before it waits for more: those that a look at its sockets found. Workers
// of their models are woken once, at its end, for all; and where a run is short, this thread does it
// (Scheduler::borrow).
//
// One thread; its requests are those whose `round` it is.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "serve/servable.h"

namespace ridge::serve {

class Round {
 public:
  void add(std::shared_ptr<TensorModel> version) {
    if (std::find(versions_.begin(), versions_.end(), version) == versions_.end())
      versions_.push_back(std::move(version));
  }
  void end() {
    for (; !versions_.empty(); versions_.pop_back()) versions_.back()->end_round();
  }

 private:
  std::vector<std::shared_ptr<TensorModel>> versions_;  // each once
};

}  // namespace ridge::serve

// FairQueue: in what order waiting sequences begin. Preempted ones first, then those with a deadline by when they must
// begin at the latest, then the rest: the key with the least service, and of a key the sequence due first. Pure; one
// thread.
//
// Service is in predicted seconds, charged as given, as lengths are unknown before: start-time fair queueing (Goyal,
// Vin, Cheng: SIGCOMM 1996) with the counters of the virtual token counter (Sheng et al.: Fairness in Serving Large
// Language Models, OSDI 2024). A key that begins to wait starts at the virtual time, so unused time earns no credit.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "generate/sequence.h"

namespace ridge::generate {

// Among sequences of one key.
struct DueFirst {
  bool operator()(const Sequence* a, const Sequence* b) const {
    return a->due != b->due ? a->due < b->due : a->request.id < b->request.id;
  }
};

struct ShortestFirst {
  bool operator()(const Sequence* a, const Sequence* b) const {
    return a->left() != b->left() ? a->left() < b->left() : a->request.id < b->request.id;
  }
};

struct Share {
  std::string key;
  uint64_t number = 0;  // in the order of their first requests
  double used_s = 0;
  int64_t sequences = 0;  // waiting or running
  std::set<Sequence*, DueFirst> waiting = {};
  std::set<Sequence*, ShortestFirst> by_length = {};  // the same
};

class FairQueue {
 public:
  // A sequence of `key` begins, or has ended. References stay valid in between.
  Share& enter(const std::string& key);
  void leave(Share& share);

  // Without memory for it: throws, and it is not in the queue.
  void add(Sequence& sequence);
  void remove(Sequence& sequence);  // if it is in the queue
  int64_t size() const { return size_; }
  Sequence* first() const;
  // Without a deadline, of the key with the least service so far: the sequence with the fewest tokens to compute.
  Sequence* shortest() const;
  // True if a comes before b; either may be running.
  bool before(const Sequence& a, const Sequence& b) const;
  // A sequence that was never admitted and whose deadline has passed.
  Sequence* expired(Nanoseconds now) const;

  // The key has had so much service; `begins`: of a sequence that was chosen by this order.
  void charge(Share& share, double seconds, bool begins);

  struct Work {
    double sequences = 0, tokens = 0, pairs = 0;  // to be computed before their first tokens
    void add(const Sequence& sequence);
    void remove(const Sequence& sequence);
  };
  const Work& work() const { return work_; }
  Work work_before(Nanoseconds latest_start) const;

 private:
  struct LeastUsed {
    bool operator()(const Share* a, const Share* b) const {
      return a->used_s != b->used_s ? a->used_s < b->used_s : a->number < b->number;
    }
  };
  struct LatestStart {
    bool operator()(const Sequence* a, const Sequence* b) const {
      return *a->latest_start != *b->latest_start ? *a->latest_start < *b->latest_start : a->request.id < b->request.id;
    }
  };
  struct Deadline {
    bool operator()(const Sequence* a, const Sequence* b) const {
      return *a->request.deadline != *b->request.deadline ? *a->request.deadline < *b->request.deadline
                                                          : a->request.id < b->request.id;
    }
  };
  void list(Sequence& sequence);
  void forget_idle();

  std::unordered_map<std::string, std::unique_ptr<Share>> shares_;
  std::set<Share*, LeastUsed> by_used_;  // with waiting sequences
  std::set<Sequence*, LatestStart> urgent_;
  std::set<Sequence*, Deadline> by_deadline_;
  double virtual_time_ = 0;  // [s]
  uint64_t keys_ = 0;
  size_t forget_at_ = 1024;
  int64_t size_ = 0;
  Work work_;
};

}  // namespace ridge::generate

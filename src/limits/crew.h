// A crew of threads, each pinned to a processor of its own, that run one job at the same time. For measuring what a
// machine can do with several threads; not a thread pool for work.
//
// Used from one thread. The members sleep between jobs and end with the crew.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace ridge::limits {

class Crew {
 public:
  // What a job sees on its thread.
  class Member {
   public:
    int index() const { return index_; }
    // Memory of this member, aligned to a page, first touched on its processor (so it is near); valid until the crew ends.
    // In huge pages where the system gives them, so that misses in the TLB do not hide the memory's own speed.
    std::span<std::byte> memory() const { return memory_; }
    // As much again in ordinary pages: what programs get that do not ask.
    std::span<std::byte> ordinary_memory() const { return ordinary_memory_; }
    // Returns in the same moment (well under a microsecond, when nothing else runs on the processors) for all members
    // of the job. Every member calls it equally often.
    void start_together();

   private:
    friend class Crew;
    Crew* crew_ = nullptr;
    int index_ = 0;
    int processor_ = 0;
    std::span<std::byte> memory_;
    std::span<std::byte> ordinary_memory_;
  };
  using Job = std::function<void(Member&)>;

  // One member per processor; member i gets memory_bytes[i] of either kind. Fails if a thread cannot be pinned or memory is short.
  static Result<std::unique_ptr<Crew>> gather(const std::vector<int>& processors,
                                              const std::vector<size_t>& memory_bytes);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(members_.size()); }
  // Runs `job` on the first `count` members and returns when all have finished it.
  void run(int count, const Job& job);

 private:
  Crew() = default;
  void live(Member& member, const std::stop_token& stop);

  std::vector<Member> members_;
  Mutex mutex_;
  StoppableConditionVariable changed_;
  const Job* job_ RIDGE_GUARDED_BY(mutex_) = nullptr;
  uint64_t job_number_ RIDGE_GUARDED_BY(mutex_) = 0;
  int unfinished_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::atomic<int> job_members_ = 0;    // changes between jobs only
  std::atomic<uint64_t> arrivals_ = 0;  // at start_together, of this job
  std::vector<std::jthread> threads_;   // last: joined before anything above is destroyed
};

}  // namespace ridge::limits

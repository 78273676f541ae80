// Threads, each pinned to its own CPU, that run one job at the same time. For measuring a machine with several threads;
// not a thread pool for work.
//
// Used from one thread. The workers sleep between jobs and end with it.
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

class PinnedThreads {
 public:
  // A job's view of its thread.
  class Worker {
   public:
    int index() const { return index_; }
    // Memory of this worker, page-aligned, first touched on its CPU (so it is near); valid until the threads end. In
    // huge pages where available, so that TLB misses do not hide the memory's own speed.
    std::span<std::byte> memory() const { return memory_; }
    // The same size in ordinary pages: the default for programs.
    std::span<std::byte> ordinary_memory() const { return ordinary_memory_; }
    // Returns at the same moment (within well under a microsecond, when nothing else runs on the CPUs) for all workers
    // of the job. Every worker calls it equally often.
    void start_together();

   private:
    friend class PinnedThreads;
    PinnedThreads* owner_ = nullptr;
    int index_ = 0;
    int cpu_ = 0;
    std::span<std::byte> memory_;
    std::span<std::byte> ordinary_memory_;
  };
  using Job = std::function<void(Worker&)>;

  // One worker per CPU; worker i gets memory_bytes[i] of either kind. Fails without pinning or memory.
  static Result<std::unique_ptr<PinnedThreads>> gather(const std::vector<int>& cpus,
                                                       const std::vector<size_t>& memory_bytes);
  ~PinnedThreads();
  PinnedThreads(const PinnedThreads&) = delete;
  PinnedThreads& operator=(const PinnedThreads&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }
  // Runs `job` on the first `count` workers and returns when all have finished it.
  void run(int count, const Job& job);

 private:
  PinnedThreads() = default;
  void live(Worker& worker, const std::stop_token& stop);

  std::vector<Worker> workers_;
  Mutex mutex_;
  StoppableConditionVariable changed_;
  const Job* job_ RIDGE_GUARDED_BY(mutex_) = nullptr;
  uint64_t job_number_ RIDGE_GUARDED_BY(mutex_) = 0;
  int unfinished_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::atomic<int> job_workers_ = 0;    // changes between jobs only
  std::atomic<uint64_t> arrivals_ = 0;  // at start_together, of this job
  std::vector<std::jthread> threads_;   // last: joined before everything above is destroyed
};

}  // namespace ridge::limits

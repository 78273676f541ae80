#include "limits/pinned_threads.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace ridge::limits {
namespace {

// Pins the calling thread. The set is sized by the CPU's number: machines beyond 1024 exist.
int pin_to(int cpu) {
  size_t count = static_cast<size_t>(cpu) + 1;
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count),
                                                       [](cpu_set_t* allocated) { CPU_FREE(allocated); });
  if (!set) return ENOMEM;
  size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set.get());
  return pthread_setaffinity_np(pthread_self(), bytes, set.get());
}

// Raises the priority for a burst's milliseconds. Needs a privilege; without it measuring takes more attempts.
void ask_for_priority() { setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), -20); }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// `advice`: MADV_HUGEPAGE or MADV_NOHUGEPAGE; a kernel without huge pages refuses it.
std::span<std::byte> map(size_t bytes, int advice) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  madvise(memory, bytes, advice);
  return {static_cast<std::byte*>(memory), bytes};
}

void unmap(std::span<std::byte> memory) {
  if (!memory.empty()) munmap(memory.data(), memory.size());
}

// Touches every page. With small positive floats: a page of zeros may be shared or dropped by a hypervisor.
void fill(std::span<std::byte> memory) {
  if (!memory.empty()) std::memset(memory.data(), 0x3c, memory.size());
}

}  // namespace

Result<std::unique_ptr<PinnedThreads>> PinnedThreads::gather(const std::vector<int>& cpus,
                                                             const std::vector<size_t>& memory_bytes) {
  std::unique_ptr<PinnedThreads> threads(new PinnedThreads);
  threads->workers_.resize(cpus.size());
  for (size_t i = 0; i < cpus.size(); ++i) {
    Worker& worker = threads->workers_[i];
    worker.owner_ = threads.get();
    worker.index_ = static_cast<int>(i);
    worker.cpu_ = cpus[i];
    if (memory_bytes[i] == 0) continue;
    worker.memory_ = map(memory_bytes[i], MADV_HUGEPAGE);
    worker.ordinary_memory_ = map(memory_bytes[i], MADV_NOHUGEPAGE);
    if (worker.memory_.empty() || worker.ordinary_memory_.empty())
      return Error{Code::kExhausted, fmt::format("measure bandwidth: twice {} bytes of memory were refused: {}",
                                                 memory_bytes[i], std::strerror(errno))};
  }
  for (Worker& worker : threads->workers_)
    threads->threads_.emplace_back(
        [&worker, owner = threads.get()](const std::stop_token& stop) { owner->live(worker, stop); });
  std::atomic<int> refused = -1;
  threads->run(threads->size(), [&](Worker& worker) {
    if (pin_to(worker.cpu_) != 0) refused = worker.cpu_;
    ask_for_priority();
    fill(worker.memory_);
    fill(worker.ordinary_memory_);
  });
  if (refused >= 0)
    return Error{Code::kFailed, fmt::format("pin a measuring thread to CPU {}: refused", refused.load())};
  return threads;
}

PinnedThreads::~PinnedThreads() {
  threads_.clear();  // asks each to stop and joins it
  for (Worker& worker : workers_) {
    unmap(worker.memory_);
    unmap(worker.ordinary_memory_);
  }
}

void PinnedThreads::live(Worker& worker, const std::stop_token& stop) {
  uint64_t last_job = 0;
  MutexLock lock(mutex_);
  while (true) {
    while (job_number_ == last_job && !stop.stop_requested()) changed_.wait(lock, stop);
    if (job_number_ == last_job) return;
    last_job = job_number_;
    if (worker.index_ >= job_workers_) continue;
    const Job& job = *job_;
    lock.unlock();
    job(worker);
    lock.lock();
    if (--unfinished_ == 0) changed_.notify_all();
  }
}

void PinnedThreads::run(int count, const Job& job) {
  MutexLock lock(mutex_);
  job_ = &job;
  job_workers_ = unfinished_ = count;
  arrivals_ = 0;
  ++job_number_;
  changed_.notify_all();
  while (unfinished_ > 0) changed_.wait(lock);
}

void PinnedThreads::Worker::start_together() {
  auto count = static_cast<uint64_t>(owner_->job_workers_.load());
  uint64_t complete = (owner_->arrivals_.fetch_add(1) / count + 1) * count;
  for (int spins = 0; owner_->arrivals_.load() < complete; ++spins) {
    relax();
    if (spins > 10'000) sched_yield();  // another thread has the CPU that we wait for; it may be this one
  }
}

}  // namespace ridge::limits

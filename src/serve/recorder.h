// Recorder: keeps the inputs of the first requests that a server accepts, as .npz files for `ridge tune --calibration`:
// FOLDER/MODEL/request-STARTED-NUMBER.npz, one array per input.
//
// Recording never delays a request: offer() takes shares of its memory (and copies data in regions of shared memory),
// never waits for the disk and cannot fail; the recorder's own thread writes. Requests beyond the limit of pending
// bytes are skipped, and a write error (a full disk) ends the recording; both are logged. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "serve/service.h"

namespace ridge::serve {

struct RecordOptions {
  std::string folder;
  uint64_t most = 1000;                              // requests, of all models together
  uint64_t most_bytes = uint64_t{1} << 30;           // [bytes] of inputs written in all
  uint64_t most_waiting_bytes = uint64_t{64} << 20;  // [bytes] of inputs held that are not written yet
};

// "DIR" or "DIR:N" (N requests, above 0). A folder whose name ends in a colon and digits needs ":N" behind it.
Result<RecordOptions> parse_record_option(const std::string& text);

class Recorder {
 public:
  // Creates the folder. Error: it cannot be created or written to.
  static Result<std::unique_ptr<Recorder>> start(RecordOptions options);
  // Writes the pending requests, and logs the recorded number.
  ~Recorder();

  // `request` was accepted by a model of that name: its inputs are in the model's order, those left out have no type.
  void offer(const std::string& model, const InferRequest& request);

  uint64_t written() const { return written_; }
  uint64_t left_out() const { return left_out_; }

 private:
  struct Item {
    std::string model;
    std::vector<RequestInput> inputs;
    std::shared_ptr<const void> body;  // holds the inputs' memory
    uint64_t bytes = 0;
    uint64_t number = 0;
  };
  explicit Recorder(RecordOptions options);
  void run(const std::stop_token& stop);
  void give_up() RIDGE_REQUIRES(mutex_);
  Status write(const Item& item) const;

  const RecordOptions options_;
  const std::string started_;  // milliseconds since the epoch: no two runs of a server write the same file
  std::atomic<uint64_t> written_{0}, left_out_{0};
  std::atomic<bool> done_{false};  // nothing is taken any more
  Mutex mutex_;
  StoppableConditionVariable changed_;
  std::deque<Item> waiting_ RIDGE_GUARDED_BY(mutex_);
  uint64_t taken_ RIDGE_GUARDED_BY(mutex_) = 0;
  uint64_t taken_bytes_ RIDGE_GUARDED_BY(mutex_) = 0;
  uint64_t waiting_bytes_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;  // last: starts after all other members
};

}  // namespace ridge::serve

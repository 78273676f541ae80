#include "serve/recorder.h"

#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/npz.h"
#include "base/utc.h"
#include "serve/region.h"

namespace ridge::serve {
namespace {

uint64_t bytes_of(const InferRequest& request) {
  uint64_t bytes = 0;
  for (const RequestInput& input : request.inputs) bytes += size_of(input);
  return bytes;
}

// Clients sharing memory with the server may overwrite it as soon as the request is answered: copies it now.
Result<OwnInputs> own_inputs(const InferRequest& request) {
  try {
    return with_own_memory(request);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, "not enough memory"};
  }
}

}  // namespace

Result<RecordOptions> parse_record_option(const std::string& text) {
  RecordOptions options;
  options.folder = text;
  const size_t colon = text.rfind(':');
  const bool counted = colon != std::string::npos && colon + 1 < text.size() &&
                       text.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (counted) {
    options.folder = text.substr(0, colon);
    auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), options.most);
    if (error != std::errc() || options.most == 0)
      return Error{Code::kInvalid, fmt::format("--record {}: the number of requests must be above 0", text)};
  }
  if (options.folder.empty()) return Error{Code::kInvalid, "--record needs a folder: --record DIR or --record DIR:N"};
  return options;
}

Result<std::unique_ptr<Recorder>> Recorder::start(RecordOptions options) {
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error)
    return Error{Code::kFailed, fmt::format("--record: make the folder {}: {}", options.folder, error.message())};
  const std::string probe = options.folder + "/.ridge-record";
  if (Status written = write_file_atomically(probe, ""); !written) return wrap(written.error(), "--record");
  std::filesystem::remove(probe, error);
  return std::unique_ptr<Recorder>(new Recorder(std::move(options)));
}

Recorder::Recorder(RecordOptions options)
    : options_(std::move(options)),
      started_(std::to_string(now_in_ms_since_epoch())),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Recorder::~Recorder() {
  thread_.request_stop();
  thread_.join();
  log::info("recorded the inputs of {} requests in {}, left out {}", written_.load(), options_.folder,
            left_out_.load());
}

void Recorder::offer(const std::string& model, const InferRequest& request) {
  if (done_.load(std::memory_order_relaxed)) return;
  const uint64_t bytes = bytes_of(request);
  Result<OwnInputs> own = own_inputs(request);
  {
    MutexLock lock(mutex_);  // whoever else holds it only moves an item
    if (!own || waiting_bytes_ + bytes > options_.most_waiting_bytes) {
      ++left_out_;
      return;
    }
    if (done_ || taken_ == options_.most || taken_bytes_ + bytes > options_.most_bytes) {
      done_ = true;
      return;
    }
    try {
      waiting_.push_back({model, std::move(own->inputs), std::move(own->owner), bytes, taken_});
    } catch (const std::bad_alloc&) {
      ++left_out_;
      return;
    }
    ++taken_;
    taken_bytes_ += bytes;
    waiting_bytes_ += bytes;
  }
  changed_.notify_one();
}

// Ends on request, when the queue is empty.
void Recorder::run(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  while (true) {
    while (waiting_.empty() && !stop.stop_requested()) changed_.wait(lock, stop);
    if (waiting_.empty()) return;
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const Status status = write(item);
    item.body.reset();
    lock.lock();
    waiting_bytes_ -= item.bytes;
    if (status) {
      ++written_;
      continue;
    }
    ++left_out_;
    log::warning("a request of model '{}' could not be recorded: {}", item.model, status.error().message);
    if (status.error().code != Code::kUnsupported) give_up();
  }
}

// The disk is full or gone; requests continue.
void Recorder::give_up() {
  done_ = true;
  left_out_ += waiting_.size();
  waiting_.clear();
  waiting_bytes_ = 0;
  log::warning("recording has ended after {} requests", written_.load());
}

Status Recorder::write(const Item& item) const {
  try {
    std::vector<NamedView> arrays;
    for (const RequestInput& input : item.inputs)
      if (input.type != DataType::kInvalid) arrays.push_back({input.name, {input.type, input.shape, input.data}});
    RIDGE_ASSIGN(const std::string file, write_npz(arrays));
    const std::string name =
        fmt::format("{}/{}/request-{}-{:06}.npz", options_.folder, item.model, started_, item.number);
    return write_file_atomically(name, file);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, "not enough memory"};
  }
}

}  // namespace ridge::serve

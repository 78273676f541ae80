// Held devices, on disk: one file per device in a folder (RIDGE_POWER_STATE, else /run/ridge/power). It keeps two processes
// from setting one device, shows others the settings (NVML does not report locked clocks), and survives if nothing could be
// restored, so that the previous setting is not lost.
//
// The holder of a device locks its file (flock); a file with content and no lock was left behind. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "power/settings.h"

namespace ridge::power {

struct Record {
  int64_t process = 0;
  Settings set;
  PreviousSetting before;
  bool held = false;  // its process lives and holds it; else it was left behind; the file lacks it
};
void visit_fields(auto& visit, Is<Record> auto& record) {
  visit("process", record.process);
  visit("set", record.set);
  visit("before", record.before);
}

std::string record_folder();
// Of every device that is held or was left behind.
std::vector<Record> read_records(const std::string& folder);

// The right to set one device, until it ends. Move-only.
class Claim {
 public:
  // kUnavailable: another process holds the device (the message names it); kFailed: the folder cannot be written. `patient`:
  // waits for the other one to end.
  static Result<Claim> take(const std::string& folder, const std::string& id, bool patient = false);
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) noexcept;
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim();

  const std::optional<Record>& left_behind() const { return left_; }  // by a process that ended without restoring
  Status write(const Record& record);
  void clear();  // restored: nothing is held

 private:
  explicit Claim(int file) : file_(file) {}
  int file_ = -1;
  std::optional<Record> left_;
};

}  // namespace ridge::power

// The GPUs of a fake vendor library, read from a script: the text file named by an environment variable.
//
//   # comment
//   like healthy.txt                the lines of that script in the same folder; what follows is of its last GPU
//   driver_version 580.95.05        of the system, before the first GPU
//   fail nvmlInit_v2 18             this function answers with that code
//   gpu                             begins a GPU; its lines follow, named as in src/gpu/gpu.h
//   gpu 0                           the same, with GPU 0's values as defaults
//   name NVIDIA H100 80GB HBM3
//   fail nvmlDeviceGetTemperature 3
//   fail * 15                       every query of this GPU: it is lost
//   hang nvmlDeviceGetPowerUsage 60 it answers after that many seconds, like a broken driver; a third number of
//                                   answers come at once before
//   process 4711 1073741824         pid and bytes
//   slice                           begins a slice (MIG) of the GPU; its lines follow, named as in src/gpu/gpu.h
//   pair 0 1 40                     how two GPUs are connected on the bus, in the library's number
//   link 0 up 0000:3b:00.0 0 0 0    a link to a peer: index, state, other end, replays, recoveries, CRC errors
//
// Values missing from the script answer "not supported".
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ridge::fake {

struct Process {
  unsigned pid = 0;
  unsigned long long bytes = ~0ULL;  // ~0: not reported
};

struct Link {
  bool up = false;
  std::string remote;
  unsigned long long replays = 0, recoveries = 0, crc_errors = 0;
};

struct Hang {
  int seconds = 0;
  int after = 0;  // answers
};

struct Part {  // the system, or a GPU
  std::map<std::string, std::string> values;
  std::map<std::string, int64_t> failures;
  std::map<std::string, Hang> hangs;
  std::vector<Process> processes;
  std::map<unsigned, Link> links;
  std::vector<Part> slices;
};

struct Script {
  Part system;
  std::vector<Part> gpus;
};

inline void read_line(const std::string& line, Script& script) {
  std::istringstream words(line);
  std::string key, rest, function;
  words >> key;
  std::getline(words >> std::ws, rest);
  if (key.empty() || key[0] == '#') return;
  if (key == "gpu") {
    Part made;
    if (!rest.empty()) made.values = script.gpus.at(std::stoul(rest)).values;
    return script.gpus.push_back(std::move(made));
  }
  if (key == "slice") return script.gpus.back().slices.emplace_back(), void();
  if (key == "pair") {
    size_t last = rest.rfind(' ');
    script.system.values["pair " + rest.substr(0, last)] = rest.substr(last + 1);
    return;
  }
  Part& gpu = script.gpus.empty() ? script.system : script.gpus.back();
  Part& part = gpu.slices.empty() ? gpu : gpu.slices.back();
  std::istringstream arguments(rest);
  if (key == "fail") {
    std::string code;
    arguments >> function >> code;
    part.failures[function] = std::strtoll(code.c_str(), nullptr, 0);
  } else if (key == "hang") {
    arguments >> function;
    Hang& hang = part.hangs[function];
    arguments >> hang.seconds >> hang.after;
  } else if (key == "process") {
    Process process;
    arguments >> process.pid >> process.bytes;
    part.processes.push_back(process);
  } else if (key == "link") {
    unsigned index = 0;
    std::string state;
    Link link;
    arguments >> index >> state >> link.remote >> link.replays >> link.recoveries >> link.crc_errors;
    link.up = state == "up";
    part.links[index] = link;
  } else {
    part.values[key] = rest;
  }
}

inline void read_script(const std::filesystem::path& path, Script& script) {
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("like "))
      read_script(path.parent_path() / line.substr(5), script);
    else
      read_line(line, script);
}

// Read once per process, and kept until its end: threads abandoned in a call still query it.
inline Script& script_of(const char* variable) {
  static Script& read = *new Script([variable] {
    Script made;
    const char* path = std::getenv(variable);
    if (path != nullptr) read_script(path, made);
    return made;
  }());
  return read;
}

// Answers so far of functions that hang eventually.
inline std::atomic<int>& answers_before_hanging() {
  static std::atomic<int> count = 0;
  return count;
}

// The script's code for a function, after its delay; `success` if there is none.
template <typename Code>
Code outcome(const Part& part, const char* function, Code success) {
  if (auto hang = part.hangs.find(function);
      hang != part.hangs.end() && answers_before_hanging()++ >= hang->second.after)
    std::this_thread::sleep_for(std::chrono::seconds(hang->second.seconds));
  for (const char* name : {function, "*"})
    if (auto failure = part.failures.find(name); failure != part.failures.end())
      return static_cast<Code>(failure->second);
  return success;
}

inline bool says(const Part& part, const char* key) { return part.values.contains(key); }

inline std::string text_of(const Part& part, const char* key) {
  auto found = part.values.find(key);
  return found == part.values.end() ? "" : found->second;
}

inline unsigned long long number_of(const Part& part, const char* key) {
  std::string word = text_of(part, key);
  if (word == "true") return 1;
  return std::strtoull(word.c_str(), nullptr, 0);
}

}  // namespace ridge::fake

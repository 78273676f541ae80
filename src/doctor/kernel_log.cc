// The kernel's log: messages about GPUs, buses, memory and disks since the start, counted by kind.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "base/csv.h"
#include "base/proc_text.h"
#include "base/units.h"
#include "catalogue/data.h"
#include "doctor/areas.h"

namespace ridge::doctor {
namespace {

constexpr const char* kLogArea = "log";

// The meaning of one kind of line. The first matching kind takes it.
struct LogKind {
  const char* id;
  const char* title;
  const char* pattern;
  Verdict verdict;
  const char* remedy;
};

// Wording of the messages: Linux drivers/pci/pcie/aer.c, mm/oom_kill.c, arch/x86/kernel/cpu/mce, block/blk-core.c,
// drivers/nvme/host/pci.c, kernel/hung_task.c, kernel/watchdog.c, kernel/time/clocksource.c, drivers/gpu/drm.
const LogKind kKinds[] = {
    // The first digit of a bank's status holds bit 61, "uncorrected" (Intel SDM volume 3B, 15.3.2.2).
    {"mce_fatal", "uncorrected machine check errors",
     R"(\[Hardware Error\].*([Uu]ncorrected|[Ff]atal|Bank \d+: [abefABEF][0-9a-fA-F]{15}))"
     R"(|Machine [Cc]heck [Ee]xception)",
     Verdict::kFail,
     "the CPU or memory is faulty: read the errors with rasdaemon (ras-mc-ctl --errors), and replace the part"},
    {"mce", "machine check errors", R"(\[Hardware Error\]|mce: .*Machine check events logged)", Verdict::kWarn,
     "read them with rasdaemon (ras-mc-ctl --errors); replace the part if corrected errors persist"},
    {"pcie_fatal", "uncorrected PCIe errors", R"(AER: .*(Uncorrected|Fatal)|PCIe Bus Error: severity=Uncorrected)",
     Verdict::kFail, "check the device named in the line: seating, riser, power; a vanished GPU needs a reboot"},
    {"pcie_corrected", "corrected PCIe errors", R"(AER: .*Corrected|PCIe Bus Error: severity=Corrected)",
     Verdict::kWarn, "reseat the device and its riser if they persist: every replayed packet costs time"},
    {"oom", "processes killed for lack of memory",
     R"(Out of memory: Kill|Memory cgroup out of memory|oom-kill:|oom_reaper: reaped)", Verdict::kWarn,
     "give the container or machine more memory, or run fewer instances: ridge plan shows what a model needs"},
    {"disk", "disk errors",
     R"(I/O error, dev|EXT4-fs error|XFS \(.*\): (metadata )?I/O error|nvme.*(timeout|controller is down))",
     Verdict::kFail, "save the data, check the disk with smartctl -a, and replace it"},
    {"gpu_hang", "a GPU hung", R"(amdgpu.*(GPU reset|ring .* timeout)|GPU HANG|i915.*Resetting|xe .*GT.*reset)",
     Verdict::kWarn, "update the driver and firmware; if it repeats on idle or simple work, have the GPU checked"},
    {"heat", "a CPU was throttled by heat", R"(temperature above threshold, cpu clock throttled)", Verdict::kWarn,
     "check fans, dust and the inlet air"},
    {"hang", "tasks that hung", R"(blocked for more than \d+ seconds|soft lockup|hard LOCKUP|rcu.*detected stalls)",
     Verdict::kWarn, "check the task named in the line: a disk, network file system or driver does not respond"},
    {"clock", "an unstable clock", R"(Marking clocksource .*unstable|clocksource: .* skewed)", Verdict::kWarn,
     "update the firmware; reading the time has become slow, and short measurements are less exact"},
    {"module", "the NVIDIA module was refused",
     R"(NVRM: API mismatch|nvidia: .*(module verification failed|disagrees about version)|Lockdown: .*unsigned module)",
     Verdict::kWarn, "reboot after a driver update, and sign the module if secure boot is on"},
};

struct LogMatch {
  int count = 0;
  std::string last;
};

// NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.
const std::regex& xid_pattern() {
  static const std::regex pattern(R"(NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+))");
  return pattern;
}

struct XidRow {
  std::string name, cause, action, kind;
};

// The row of data/error_codes.csv; empty fields for a missing code.
XidRow xid_row(const std::string& code) {
  Result<Csv> table = parse_csv(catalogue::data("error_codes"), "error_codes");
  if (!table) return {};
  for (const auto& row : table->rows)
    if (row[static_cast<size_t>(table->column("domain"))] == "xid" &&
        row[static_cast<size_t>(table->column("code"))] == code)
      return {row[static_cast<size_t>(table->column("name"))], row[static_cast<size_t>(table->column("likely_cause"))],
              row[static_cast<size_t>(table->column("first_action"))],
              row[static_cast<size_t>(table->column("class"))]};
  return {};
}

Finding judge_xid(const std::string& code, const std::string& address, const LogMatch& seen) {
  Finding finding = about(kLogArea, "xid." + code, "XID " + code + " of the GPU at " + address, "kernel log");
  XidRow row = xid_row(code);
  std::string evidence =
      fmt::format("{}: {}", counted(seen.count, "time"), row.cause.empty() ? "a code not in the table" : row.cause);
  evidence += "; last: " + seen.last;
  std::string remedy = row.action.empty() ? "look the code up in NVIDIA's XID documentation" : row.action;
  // A program's own fault says nothing about the machine; a fault of board or link does.
  if (row.kind == "hw") return fail(finding, evidence, remedy);
  return warn(finding, evidence, remedy);
}

// The log's findings, by kind; XID lines by code and address.
struct Counts {
  std::map<std::pair<std::string, std::string>, LogMatch> xids;
  std::map<size_t, LogMatch> kinds;  // index into kKinds
  int lines = 0;
};

const std::vector<std::regex>& patterns() {
  static const std::vector<std::regex> compiled = [] {
    std::vector<std::regex> made;
    for (const LogKind& kind : kKinds) made.emplace_back(kind.pattern, std::regex::optimize);
    return made;
  }();
  return compiled;
}

void see(LogMatch& seen, const std::string& line) {
  ++seen.count;
  seen.last = std::string(trim(line));
}

void count_line(const std::string& line, Counts& counts) {
  std::smatch match;
  if (std::regex_search(line, match, xid_pattern())) return see(counts.xids[{match[2].str(), match[1].str()}], line);
  for (size_t i = 0; i < patterns().size(); ++i)
    if (std::regex_search(line, patterns()[i])) return see(counts.kinds[i], line);
}

Counts count_lines(const std::string& text) {
  constexpr size_t kHead = 400;  // lines may be arbitrarily long; the relevant text is at the beginning
  Counts counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); ++counts.lines) count_line(line.substr(0, kHead), counts);
  return counts;
}

Finding judge_kind(const LogKind& kind, const LogMatch& seen) {
  Finding finding = about(kLogArea, kind.id, kind.title, "kernel log");
  std::string evidence = fmt::format("{}, the last: {}", counted(seen.count, "line"), seen.last);
  return kind.verdict == Verdict::kFail ? fail(finding, evidence, kind.remedy) : warn(finding, evidence, kind.remedy);
}

}  // namespace

Findings judge_kernel_log(const Facts& facts) {
  std::optional<std::string> text = machine::text_at(facts.tree, entry::kKernelLog);
  Finding whole = about(kLogArea, "kernel", "kernel log", "kernel log");
  if (!text) return {not_applicable(whole, machine::reason_at(facts.tree, entry::kKernelLog))};
  Counts counts = count_lines(*text);
  Findings findings;
  for (const auto& [what, seen] : counts.xids) findings.push_back(judge_xid(what.first, what.second, seen));
  for (const auto& [i, seen] : counts.kinds) findings.push_back(judge_kind(kKinds[i], seen));
  if (findings.empty())
    findings.push_back(ok(whole, fmt::format("{} lines, no hardware, memory or disk errors", counts.lines)));
  return findings;
}

}  // namespace ridge::doctor

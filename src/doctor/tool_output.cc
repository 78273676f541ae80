#include "doctor/tool_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/proc_text.h"
#include "base/read_number.h"
#include "base/units.h"
#include "doctor/group_links.h"
#include "machine/pci_gpus.h"

namespace ridge::doctor {
namespace {

using gpu::Gpu;

// One run of a tool: its text, and the document if it is one.
struct Output {
  std::string text;
  Json json;  // null: no JSON
};

// Returns 0 if there is no such number.
double number_in(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* name : path) {
    if (!at->is_object() || !at->contains(name)) return 0;
    at = &(*at)[name];
  }
  return at->is_number() ? at->get<double>() : 0;
}

std::string text_in(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

// The elements of an array; none of anything else.
std::vector<Json> list_in(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name) || !json[name].is_array()) return {};
  return {json[name].begin(), json[name].end()};
}

std::vector<std::vector<std::string>> lines_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(split_words(line));
  return lines;
}

// Returns 0 if the word is not a finite number.
double number_of(const std::string& word) {
  double value = 0;
  return read_number(word, value) && std::isfinite(value) ? value : 0;
}

// A link's rate, or why that is not known.
struct LinkLimit {
  double bytes_per_s = 0;  // 0: not known
  std::string what;        // "PCIe 4.0 x16", "the speed of eth0"; or the reason
};

// A rate beside its limit; below `least`, a share of it, something is wrong.
Finding beside(Finding finding, std::string evidence, double bytes_per_s, const LinkLimit& limit, double least,
               std::string remedy) {
  if (limit.bytes_per_s <= 0) return ok(std::move(finding), evidence + "; its limit is not known: " + limit.what);
  const double share = bytes_per_s / limit.bytes_per_s;
  evidence += fmt::format(", {} of the {} that {} carries", format_percent(100 * share),
                          format_bandwidth(limit.bytes_per_s), limit.what);
  if (share < least) return warn(std::move(finding), std::move(evidence), std::move(remedy));
  return ok(std::move(finding), std::move(evidence));
}

// ----- fio --output-format=json -----

// "nvme0n1": the PCIe link of its controller.
LinkLimit disk_limit(const machine::Tree& tree, const Json& json) {
  const std::vector<Json> disks = list_in(json, "disk_util");
  const std::string name = disks.empty() ? "" : text_in(disks.front(), "name");
  const std::string folder = "sys/class/nvme/" + name.substr(0, name.find('n', 4)) + "/device/";
  const std::optional<double> rate = machine::link_bytes_per_s_at(tree, folder);
  if (!rate) return {0, name.empty() ? "fio names no disk" : name + " shows no PCIe link"};
  return {*rate, "the PCIe link of " + name};
}

// A model of 1 GB takes more than 5 s to load; a hard disk, or a network share.
constexpr double kSlowDisk_bytes_per_s = 200e6;
// A hard disk needs 5 to 10 ms for a read, a solid-state one 0.1 ms.
constexpr double kSlowRead_ms = 2;

Finding judge_fio_side(const Json& side, const std::string& job, const std::string& options, bool random,
                       const LinkLimit& limit) {
  Finding finding = about("storage", "fio." + job, "fio, " + job, "fio, " + options);
  const double rate = number_in(side, {"bw_bytes"}), median = number_in(side, {"clat_ns", "percentile", "50.000000"}),
               p99 = number_in(side, {"clat_ns", "percentile", "99.000000"});
  std::string evidence = fmt::format("{}, {:.0f} per second, median {}, p99 {}", format_bandwidth(rate),
                                     number_in(side, {"iops"}), format_ms(median / 1e6), format_ms(p99 / 1e6));
  if (random && median / 1e6 > kSlowRead_ms)
    return warn(finding, evidence, "keep data sets and memory-mapped weights on a local solid-state disk");
  if (!random && rate < kSlowDisk_bytes_per_s)
    return warn(
        finding, evidence,
        "keep models on a local solid-state disk: loading a model of 1 GB takes " + format_ms(1e12 / rate) + " here");
  return beside(finding, evidence, rate, limit, 0, "");
}

Findings judge_fio(const Facts& facts, const Output& output) {
  Findings findings;
  const LinkLimit limit = disk_limit(facts.tree, output.json);
  for (const Json& job : list_in(output.json, "jobs")) {
    Json options = output.json.value("global options", Json::object());
    if (job.is_object() && job.contains("job options") && job["job options"].is_object() && options.is_object())
      options.update(job["job options"]);
    const std::string name = text_in(job, "jobname"), rw = text_in(options, "rw");
    const std::string how = fmt::format("rw={}, bs={}{}", rw.empty() ? "read" : rw,
                                        text_in(options, "bs").empty() ? "4k" : text_in(options, "bs"),
                                        text_in(options, "direct") == "1" ? ", direct" : ", through the page cache");
    for (const char* side : {"read", "write"})
      if (job.is_object() && job.contains(side) && number_in(job[side], {"bw_bytes"}) > 0)
        findings.push_back(judge_fio_side(job[side], fmt::format("{} {}", name, side), how,
                                          rw.find("rand") != std::string::npos, limit));
  }
  return findings;
}

// ----- iperf3 --json -----

// The fastest link that is up: which one the peer is reached by is not in the output.
LinkLimit fastest_link(const machine::Tree& tree, const std::string& own_address) {
  if (own_address.starts_with("127.") || own_address == "::1") return {0, "the peer is this machine"};
  LinkLimit best{0, "no link reports its speed"};
  for (const std::string& name : machine::children(tree, "sys/class/net"))
    if (const double rate =
            1e6 / 8 * static_cast<double>(machine::number_at(tree, "sys/class/net/" + name + "/speed").value_or(-1));
        rate > best.bytes_per_s)
      best = {rate, "the fastest link here, " + name + ","};
  return best;
}

Findings judge_iperf(const Facts& facts, const Output& output) {
  const Json& json = output.json;
  const std::vector<Json> connected = list_in(json["start"], "connected");
  const Json first = connected.empty() ? Json::object() : connected.front();
  const std::string peer = text_in(first, "remote_host");
  const bool reverse = number_in(json, {"start", "test_start", "reverse"}) != 0;
  Finding finding =
      about("network", "iperf3." + peer, fmt::format("iperf3 {} {}", reverse ? "from" : "to", peer),
            fmt::format("iperf3, {:.0f} streams", number_in(json, {"start", "test_start", "num_streams"})));
  if (const std::string error = text_in(json, "error"); !error.empty())
    return {fail(finding, error, "start iperf3 -s on the peer, and let its port through the firewall")};
  const char* sum = json.contains("end") && json["end"].contains("sum_received") ? "sum_received" : "sum";  // TCP, UDP
  const double rate = number_in(json, {"end", sum, "bits_per_second"}) / 8;
  std::string evidence = format_bandwidth(rate);
  if (const double sent_again = number_in(json, {"end", "sum_sent", "retransmits"}); sent_again > 0)
    evidence += fmt::format(", {:.0f} segments sent again", sent_again);
  // One TCP stream of a sound link reaches nine tenths; half of it says that something else is in the way.
  return {beside(finding, evidence, rate, fastest_link(facts.tree, text_in(first, "local_host")), 0.5,
                 "check for a slower link on the path, other traffic, a small MTU or TCP windows (net.ipv4.tcp_rmem, "
                 "tcp_wmem); several streams (iperf3 -P 4) tell a slow CPU from a slow link")};
}

// ----- ib_write_bw, ib_read_bw, ib_send_bw of perftest -----

// "200 Gb/sec (4X HDR)": of the fastest port of the device.
LinkLimit port_limit(const machine::Tree& tree, const std::string& device) {
  LinkLimit best{0, "the rate of " + device + "'s ports"};
  const std::string folder = "sys/class/infiniband/" + device + "/ports/";
  for (const std::string& port : machine::children(tree, folder.substr(0, folder.size() - 1))) {
    const std::string rate = machine::text_at(tree, folder + port + "/rate").value_or("");
    if (const double bytes = 1e9 / 8 * number_of(rate.substr(0, rate.find(' '))); bytes > best.bytes_per_s)
      best = {bytes, fmt::format("port {} of {}", port, device)};
  }
  return best;
}

Findings judge_perftest(const Facts& facts, const Output& output) {
  std::string title = "RDMA", device;
  double best = 0, size = 0, unit = 1 << 20;  // MB/sec is 2^20 (perftest's report_fmt), Gb/sec a billion bits
  for (const std::vector<std::string>& words : lines_of(output.text)) {
    if (words.size() > 2 && words.back() == "Test") title = words[0] + " " + words[1];
    for (size_t i = 0; i + 2 < words.size(); ++i)
      if (words[i] == "Device" && words[i + 1] == ":") device = words[i + 2];
    if (!words.empty() && words[0] == "#bytes" && output.text.find("average[Gb/sec]") != std::string::npos)
      unit = 1e9 / 8;
    if (words.size() < 4 || number_of(words[0]) <= 0 || number_of(words[3]) * unit <= best) continue;
    best = number_of(words[3]) * unit;
    size = number_of(words[0]);
  }
  Finding finding = about("network", "perftest." + device, fmt::format("{} by {}", title, device), "perftest");
  if (best == 0) return {not_applicable(finding, "it has no row of results")};
  // Headers of the transport leave 93 % (RoCE, MTU 1024: 1024 of 1106 bytes) to 99 % (InfiniBand, MTU 4096).
  return {beside(finding, fmt::format("{} at {}", format_bandwidth(best), format_bytes(size)), best,
                 port_limit(facts.tree, device), 0.8,
                 "check the PCIe link of the adapter (lspci -vv, LnkSta), its NUMA node (numactl), MTU and relaxed "
                 "ordering; ibdiagnet finds bad cables")};
}

// ----- nccl-tests -----

// The GPUs that NVML reports, with the addresses of all.
struct Gpus {
  std::vector<Gpu> all;
  std::set<std::string> addresses;
};
Gpus gpus_of(const Facts& facts) {
  Gpus gpus;
  const Result<Json> json = machine::json_at(facts.tree, entry::kNvml);
  if (!json) return gpus;
  if (Result<gpu::GpuSystem> system = from_json<gpu::GpuSystem>(*json)) gpus.all = std::move(system->gpus);
  for (const Gpu& gpu : gpus.all) gpus.addresses.insert(gpu.pci_address.value.value_or(""));
  return gpus;
}

// Goes by "_perf", else by the columns: "none" reduces nothing; bus over algorithm bandwidth is the factor.
Collective collective_of(const std::string& text, bool reduces, double factor, double ranks) {
  constexpr std::pair<std::string_view, Collective> kNames[] = {{"all_reduce_perf", Collective::kAllReduce},
                                                                {"reduce_scatter_perf", Collective::kReduceScatter},
                                                                {"all_gather_perf", Collective::kAllGather},
                                                                {"broadcast_perf", Collective::kBroadcast}};
  for (const auto& [name, collective] : kNames)
    if (text.find(name) != std::string::npos) return collective;
  const bool part = factor < 1 - 0.5 / ranks;
  if (reduces) return part ? Collective::kReduceScatter : Collective::kAllReduce;
  return part ? Collective::kAllGather : Collective::kBroadcast;
}

constexpr std::string_view kCollectives[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast"};

// Smaller operations are bound by latency; at 512 MB the rate still grows (nccl-tests#149).
constexpr double kJudgedFrom_bytes = 16 << 20;

struct NcclRun {
  std::set<std::string> hosts;
  double ranks = 0, size = 0, algorithm = 0, bus = 0, wrong = 0;  // of the row with the highest bus bandwidth [bytes/s]
  bool reduces = false;
};

// "# Rank 0 Group 0 Pid 322 on server device 0 [0x1b] NVIDIA A100-SXM4-40GB"; rows: size, count, type, redop, root,
// then twice time, algbw, busbw, #wrong. A row that is older has no root.
NcclRun nccl_run_of(const std::string& text) {
  NcclRun run;
  for (const std::vector<std::string>& words : lines_of(text)) {
    if (words.size() > 2 && words[0] == "#" && words[1] == "Rank") {
      ++run.ranks;
      for (size_t i = 2; i + 1 < words.size(); ++i)
        if (words[i] == "on") run.hosts.insert(words[i + 1]);
    }
    if (words.size() < 12 || number_of(words[0]) <= 0) continue;
    const size_t at = words.size() - 8;
    for (const size_t first : {at, at + 4}) {
      if (words[first + 3] != "N/A") run.wrong += number_of(words[first + 3]);
      const double bus = 1e9 * number_of(words[first + 2]);
      if (bus <= run.bus) continue;
      run.bus = bus;
      run.algorithm = 1e9 * number_of(words[first + 1]);
      run.size = number_of(words[0]);
      run.reduces = words[3] != "none";
    }
  }
  return run;
}

Findings judge_nccl(const Facts& facts, const Output& output) {
  const NcclRun run = nccl_run_of(output.text);
  const Collective collective = collective_of(output.text, run.reduces, run.algorithm > 0 ? run.bus / run.algorithm : 1,
                                              std::max(2.0, run.ranks));
  const std::string name(kCollectives[static_cast<size_t>(collective)]);
  Finding finding = about("gpu", "nccl." + name, fmt::format("{} of {:.0f} GPUs", name, run.ranks), "nccl-tests");
  if (run.bus == 0 || run.ranks < 2)
    return {not_applicable(finding, "it has no rate: with one GPU nothing goes between GPUs")};
  std::string evidence = fmt::format("{} of bus bandwidth at {}", format_bandwidth(run.bus), format_bytes(run.size));
  if (run.wrong > 0)
    return {fail(finding, fmt::format("{}; {:.0f} values wrong", evidence, run.wrong),
                 "look for XID lines in the kernel log: data between the GPUs arrives damaged")};
  const Gpus gpus = gpus_of(facts);
  std::string unknown;
  if (run.hosts.size() > 1)
    unknown = fmt::format("{} machines, and only this one's links are seen", run.hosts.size());
  else if (static_cast<size_t>(run.ranks) != gpus.all.size())
    unknown = fmt::format("{:.0f} ranks, and NVML shows {} here", run.ranks, counted(gpus.all.size(), "GPU"));
  if (!unknown.empty()) return {beside(finding, evidence, run.bus, {0, unknown}, 0, "")};
  const GroupLinks links = links_of(gpus.all, gpus.addresses);
  const Result<double> limit = bus_limit(links, collective);
  if (!limit) return {beside(finding, evidence, run.bus, {0, limit.error().message}, 0, "")};
  const UsualShare usual = usual_bus_bandwidth(links, collective);
  evidence += fmt::format(" (usual: {}, {})", format_bandwidth(usual.bytes_per_s), usual.said);
  // A rate from 90 % of the usual one on is normal.
  const double least = run.size < kJudgedFrom_bytes ? 0 : 0.9 * usual.bytes_per_s / *limit;
  return {beside(finding, evidence, run.bus, {*limit, links.text}, least,
                 "see the findings about NVLink and PCIe above, NCCL_DEBUG=INFO for the way that NCCL takes, and "
                 "nvidia-smi topo -p2p r: GPUs that may not reach each other's memory go through the host's")};
}

// ----- nvbandwidth -----

// Limit of the link between GPU `to` and the host (`from` absent) or GPU `from`.
LinkLimit copy_limit(const Gpus& gpus, std::optional<size_t> from, size_t to) {
  if (to >= gpus.all.size() || (from && *from >= gpus.all.size()))
    return {0, fmt::format("NVML shows {}", counted(gpus.all.size(), "GPU"))};
  std::vector<Gpu> ends = {gpus.all[to]};
  if (from) ends.push_back(gpus.all[*from]);
  const GroupLinks links = links_of(ends, gpus.addresses);
  const double rate = links.nvlink_bytes_per_s[0] > 0 ? links.nvlink_bytes_per_s[0] : links.pcie_bytes_per_s[0];
  return {rate, rate > 0 ? links.text : "no link reports its speed"};
}

// A matrix of rates [GB/s] under "Running NAME." and a title: its cell that is furthest below its link.
Findings judge_nvbandwidth(const Facts& facts, const Output& output) {
  const Gpus gpus = gpus_of(facts);
  Findings findings;
  std::string name;
  double worst = 0;
  for (const std::vector<std::string>& words : lines_of(output.text)) {
    if (words.size() == 2 && words[0] == "Running") name = words[1].substr(0, words[1].find('.'));
    // Both ways at once, and all at once, share links in ways that this matrix does not tell.
    const bool between = name.starts_with("device_to_device_memcpy");
    if (!between && !name.starts_with("host_to_device_memcpy") && !name.starts_with("device_to_host_memcpy")) continue;
    const auto row = words.size() < 2 ? std::nullopt : to_number(words[0]);
    for (size_t column = 0; row && *row >= 0 && column + 1 < words.size(); ++column) {
      const double rate = words[column + 1].find('.') == std::string::npos ? 0 : 1e9 * number_of(words[column + 1]);
      if (rate <= 0) continue;
      const LinkLimit limit =
          copy_limit(gpus, between ? std::optional(static_cast<size_t>(*row)) : std::nullopt, column);
      const double share = limit.bytes_per_s > 0 ? rate / limit.bytes_per_s : rate;
      Finding finding = about("gpu", "nvbandwidth." + name, name, "nvbandwidth");
      const bool first = findings.empty() || findings.back().id != finding.id;
      if (!first && share >= worst) continue;
      if (!first) findings.pop_back();
      worst = share;
      const std::string where =
          between ? fmt::format("GPU {} and GPU {}", *row, column) : fmt::format("GPU {}", column);
      // NCCL counts on 12 of the 15.75 GB/s of PCIe 3.0 x16 (its src/graph/topo.h).
      findings.push_back(beside(std::move(finding), fmt::format("slowest {} by {}", format_bandwidth(rate), where),
                                rate, limit, 0.76,
                                "see the findings about this GPU's PCIe link and NUMA node; other work on the GPU or "
                                "in the host's memory slows copies too"));
    }
  }
  if (findings.empty())
    findings.push_back(not_applicable(about("gpu", "nvbandwidth", "nvbandwidth", "nvbandwidth"),
                                      "no matrix of host_to_device, device_to_host or device_to_device copies"));
  return findings;
}

// ----- the tools -----

struct Tool {
  std::string_view name, area;
  std::string_view command;  // its output is read
  bool (*is_its)(const Output& output);
  Findings (*judge)(const Facts& facts, const Output& output);
};

constexpr Tool kTools[] = {
    {"fio", "storage", "fio --name=load --rw=read --bs=1M --size=1G --direct=1 --filename=FILE --output-format=json",
     [](const Output& output) { return output.json.contains("fio version"); }, judge_fio},
    {"iperf3", "network", "iperf3 -c PEER --json",
     [](const Output& output) { return output.json.contains("start") && output.json.contains("end"); }, judge_iperf},
    {"perftest", "network", "ib_write_bw PEER",
     [](const Output& output) { return output.text.find("BW average[") != std::string::npos; }, judge_perftest},
    {"nccl-tests", "gpu", "all_reduce_perf -b 8 -e 8G -f 8 -g GPUS",
     [](const Output& output) { return output.text.find("busbw") != std::string::npos; }, judge_nccl},
    {"nvbandwidth", "gpu", "nvbandwidth",
     [](const Output& output) { return output.text.find("bandwidth (GB/s)") != std::string::npos; }, judge_nvbandwidth},
};

Output output_of(std::string_view text) {
  Output output{.text = std::string(text), .json = nullptr};
  if (const size_t first = text.find_first_not_of(" \t\r\n"); first != std::string_view::npos && text[first] == '{')
    if (Result<Json> json = parse_json(text, "the tool's output")) output.json = std::move(*json);
  return output;
}

const Tool* tool_of(const Output& output) {
  const auto found = std::ranges::find_if(kTools, [&](const Tool& tool) { return tool.is_its(output); });
  return found == std::end(kTools) ? nullptr : &*found;
}

}  // namespace

Result<std::string_view> area_of_output(std::string_view text) {
  if (const Tool* tool = tool_of(output_of(text))) return tool->area;
  std::string message = "this is the output of no tool that is known; read are those of";
  for (const Tool& tool : kTools) message += fmt::format("\n  {:<12} {}", tool.name, tool.command);
  return Error{Code::kInvalid, message};
}

Findings judge_outputs(const Facts& facts, std::string_view area) {
  Findings findings;
  for (const std::string& name : machine::children(facts.tree, entry::kOutputs)) {
    const Output output = output_of(facts.tree.files.at(std::string(entry::kOutputs) + "/" + name));
    const Tool* tool = tool_of(output);
    if (!tool || tool->area != area) continue;
    for (Finding& finding : tool->judge(facts, output)) findings.push_back(std::move(finding));
  }
  if (!findings.empty() || area == "gpu") return findings;
  const auto first = std::ranges::find(kTools, area, &Tool::area);
  return {not_applicable(about(area, "measured", "measured speed", first->name),
                         fmt::format("not measured: {} | ridge doctor --from -", first->command))};
}

}  // namespace ridge::doctor

// Network: the links and their errors, RDMA ports, and what tools measured over them.
#include <fmt/format.h>

#include "base/proc_text.h"
#include "base/units.h"
#include "doctor/areas.h"
#include "doctor/tool_output.h"

namespace ridge::doctor {
namespace {

constexpr const char* kNetworkArea = "network";
constexpr int64_t kEthernet = 1;  // ARPHRD_ETHER of linux/if_arp.h

struct Link {
  std::string name, state;
  int64_t speed_mbit = -1;  // -1: not reported (virtual, or down)
  int64_t mtu = 0;
  std::string duplex;
  bool hardware = false;
  int64_t packets = 0, errors = 0, dropped = 0;
};

Link link_of(const machine::Tree& tree, const std::string& name) {
  const std::string folder = "sys/class/net/" + name + "/";
  auto number = [&](const char* file) { return machine::number_at(tree, folder + file).value_or(0); };
  Link link;
  link.name = name;
  link.state = machine::text_at(tree, folder + "operstate").value_or("unknown");
  link.speed_mbit = machine::number_at(tree, folder + "speed").value_or(-1);
  link.mtu = number("mtu");
  link.duplex = machine::text_at(tree, folder + "duplex").value_or("");
  link.hardware = tree.files.contains(folder + "device/uevent");
  link.packets = number("statistics/rx_packets") + number("statistics/tx_packets");
  link.errors = number("statistics/rx_errors") + number("statistics/tx_errors");
  link.dropped = number("statistics/rx_dropped") + number("statistics/tx_dropped");
  return link;
}

std::string speed_text(int64_t mbit) {
  if (mbit <= 0) return "speed unknown";
  return mbit >= 1000 ? fmt::format("{:.3g} Gbit/s", static_cast<double>(mbit) / 1000) : fmt::format("{} Mbit/s", mbit);
}

Finding judge_link(const Link& link) {
  Finding finding = about(kNetworkArea, link.name, "link " + link.name, "/sys/class/net/" + link.name);
  std::string evidence = fmt::format("{}, {}, MTU {}, {} of {} packets with errors, {} dropped", link.state,
                                     speed_text(link.speed_mbit), link.mtu, link.errors, link.packets, link.dropped);
  if (link.state == "down" || link.state == "notpresent" || link.state == "lowerlayerdown")
    return not_applicable(finding, evidence + ": not in use");
  if (link.duplex == "half")
    return warn(finding, evidence + ", half duplex",
                "enable negotiation at both ends, or set both to full duplex; replace the cable");
  // Above one in a million indicates a fault of cable, optics or buffers.
  if (link.errors > 10 && static_cast<double>(link.errors) > 1e-6 * static_cast<double>(link.packets))
    return warn(finding, evidence, "check cable and optics: ethtool -S " + link.name + " shows the kind of error");
  if (link.speed_mbit > 0 && link.speed_mbit < 1000)
    return warn(finding, evidence,
                "a link this slow usually has a bad cable or port: it carries " +
                    format_bandwidth(static_cast<double>(link.speed_mbit) * 1e6 / 8));
  if (link.speed_mbit >= 25000 && link.mtu <= 1500)
    return ok(finding, evidence + "; large packets (MTU 9000 on the whole path) would cost less CPU time");
  return ok(finding, evidence);
}

Finding judge_rdma_port(const machine::Tree& tree, const std::string& device, const std::string& port) {
  const std::string folder = "sys/class/infiniband/" + device + "/ports/" + port + "/";
  std::string name = device + "." + port;
  Finding finding = about(kNetworkArea, "rdma." + name, "RDMA port " + name, "/" + folder);
  std::string state = machine::text_at(tree, folder + "state").value_or("unknown");  // "4: ACTIVE"
  int64_t symbol_errors = machine::number_at(tree, folder + "counters/symbol_error").value_or(0);
  int64_t downed = machine::number_at(tree, folder + "counters/link_downed").value_or(0);
  std::string evidence =
      fmt::format("{}, {}, {}, {} symbol errors, {} times down", state,
                  machine::text_at(tree, folder + "rate").value_or("rate unknown"),
                  machine::text_at(tree, folder + "link_layer").value_or("layer unknown"), symbol_errors, downed);
  if (state.find("ACTIVE") == std::string::npos) {
    bool cable = machine::text_at(tree, folder + "phys_state").value_or("").find("LinkUp") != std::string::npos;
    return warn(finding, evidence,
                cable ? "start a subnet manager (opensm) for this fabric: the link is up, but the port is not active"
                      : "connect the port, or leave it out of NCCL_IB_HCA");
  }
  if (symbol_errors > 100) return warn(finding, evidence, "check cable and optics (ibdiagnet)");
  return ok(finding, evidence);
}

Findings judge_rdma(const machine::Tree& tree) {
  Findings findings;
  for (const std::string& device : machine::children(tree, "sys/class/infiniband"))
    for (const std::string& port : machine::children(tree, "sys/class/infiniband/" + device + "/ports"))
      findings.push_back(judge_rdma_port(tree, device, port));
  if (findings.empty())
    findings.push_back(not_applicable(about(kNetworkArea, "rdma", "RDMA", "/sys/class/infiniband"),
                                      "no RDMA device, or not visible in this container"));
  return findings;
}

}  // namespace

Findings judge_network(const Facts& facts) {
  const machine::Tree& tree = facts.tree;
  Findings findings;
  int down = 0;
  for (const std::string& name : machine::children(tree, "sys/class/net")) {
    Link link = link_of(tree, name);
    // Links of hardware, or of a container's own (no device, but Ethernet and up); not lo, unused bridges, tunnels.
    bool shown = link.hardware ||
                 (machine::number_at(tree, "sys/class/net/" + name + "/type") == kEthernet && link.state == "up");
    if (shown)
      findings.push_back(judge_link(link));
    else
      ++down;
  }
  if (findings.empty())
    findings.push_back(not_applicable(about(kNetworkArea, "link", "links", "/sys/class/net"),
                                      fmt::format("no network device visible ({} virtual ones)", down)));
  for (Finding& finding : judge_rdma(tree)) findings.push_back(std::move(finding));
  for (Finding& finding : judge_outputs(facts, kNetworkArea)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace ridge::doctor

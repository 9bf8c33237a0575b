#include "common/report.hpp"

#include <nlohmann/json.hpp>

namespace godwit::apps {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
void add(Json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

Json to_object(const Result& result) {
  Json object = {{"size", result.size}};
  add(object, "iterations", result.iterations);
  add(object, "count", result.count);
  add(object, "type", result.type);
  add(object, "redop", result.redop);
  add(object, "root", result.root);
  add(object, "in_place", result.in_place);
  if (const auto& s = result.latency_us) {
    object["latency_us"] = {{"min", s->min}, {"median", s->median}, {"p99", s->p99}, {"average", s->average}};
    if (const auto& tails = s->tails)
      object["latency_us"].update({{"max", tails->max}, {"deviation", tails->deviation}, {"p99_9", tails->p99_9}});
  }
  add(object, "waiting_cpu_percent", result.waiting_cpu_percent);
  add(object, "time_us", result.time_us);
  add(object, "algbw_GBps", result.algbw_GBps);
  add(object, "busbw_GBps", result.busbw_GBps);
  add(object, "bandwidth_MBps", result.bandwidth_MBps);
  add(object, "bandwidth_peak_MBps", result.bandwidth_peak_MBps);
  add(object, "messages_per_s", result.messages_per_s);
  add(object, "wrong", result.wrong);
  return object;
}

}  // namespace

std::string to_json(const Report& report) {
  const Machine& machine = report.machine;
  Json document = {{"tool", report.tool},
                   {"version", report.version},
                   {"transport", report.transport},
                   {"ranks", report.ranks},
                   {"hosts", report.hosts},
                   {"memory", report.memory},
                   {"threads", report.threads},
                   {"command", report.command},
                   {"date", report.date},
                   {"machine",
                    {{"cpu", machine.cpu},
                     {"cpus", machine.cpus},
                     {"caches", machine.caches},
                     {"memory", machine.memory},
                     {"kernel", machine.kernel},
                     {"virtual", machine.virtual_machine},
                     {"pinning", machine.pinning}}},
                   {"results", Json::array()}};
  for (const Result& result : report.results) document["results"].push_back(to_object(result));
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace godwit::apps

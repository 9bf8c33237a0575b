#include "common/report.hpp"

#include "common/usage.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
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
  add(object, "count", result.count);
  add(object, "type", result.type);
  add(object, "redop", result.redop);
  add(object, "root", result.root);
  add(object, "in_place", result.in_place);
  if (const auto& s = result.latency_us)
    object["latency_us"] = {{"min", s->min}, {"median", s->median}, {"p99", s->p99}, {"average", s->average}};
  add(object, "waiting_cpu_percent", result.waiting_cpu_percent);
  add(object, "time_us", result.time_us);
  add(object, "algbw_GBps", result.algbw_GBps);
  add(object, "busbw_GBps", result.busbw_GBps);
  add(object, "bandwidth_MBps", result.bandwidth_MBps);
  add(object, "messages_per_s", result.messages_per_s);
  add(object, "wrong", result.wrong);
  return object;
}

}  // namespace

std::string to_json(const Report& report) {
  Json document = {{"tool", report.tool},       {"version", report.version}, {"transport", report.transport},
                   {"ranks", report.ranks},     {"hosts", report.hosts},     {"memory", report.memory},
                   {"threads", report.threads}, {"results", Json::array()}};
  for (const Result& result : report.results) document["results"].push_back(to_object(result));
  return document.dump(2) + "\n";
}

ReportFile::ReportFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  partial_ = fmt::format("{}.{}.part", path_, ::getpid());
  if (std::filesystem::is_directory(path_))
    throw UsageError(fmt::format("-J {}: is a directory; name a file in it", path_));
  if (!std::ofstream(partial_))
    throw UsageError(fmt::format("-J {}: cannot write there: {}", path_, std::strerror(errno)));
}

ReportFile::~ReportFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void ReportFile::write(const Report& report) {
  if (path_.empty()) return;
  std::ofstream file(partial_);
  file << to_json(report);
  file.close();
  if (!file) throw std::runtime_error(fmt::format("-J {}: writing failed: {}", path_, std::strerror(errno)));
  std::filesystem::rename(partial_, path_);
  partial_.clear();
}

}  // namespace godwit::apps

#include "collectives/simulator/sharing.hpp"

#include <algorithm>

namespace godwit::collectives::simulator {

Sharing::Sharing(const std::vector<double>& capacities) : resources_(capacities.size()), used_(capacities.size(), 0) {
  for (std::size_t i = 0; i < capacities.size(); ++i) resources_[i].capacity = capacities[i];
}

void Sharing::touch(ResourceId id) {
  Resource& resource = resources_[static_cast<std::size_t>(id)];
  if (resource.dirty) return;
  resource.dirty = true;
  dirty_.push_back(id);
}

void Sharing::start(double now, double work, std::span<const Use> uses, std::uint64_t owner) {
  if (free_.empty()) {
    free_.push_back(static_cast<JobId>(jobs_.size()));
    jobs_.emplace_back();
  }
  const JobId id = free_.back();
  free_.pop_back();
  Job& job = jobs_[id];
  job.left = work;
  job.rate = 0;
  job.since = now;
  job.owner = owner;
  job.active = true;
  job.uses.assign(uses.begin(), uses.end());
  job.slots.clear();
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    Resource& resource = resources_[static_cast<std::size_t>(uses[i].resource)];
    job.slots.push_back(static_cast<std::uint32_t>(resource.jobs.size()));
    resource.jobs.push_back({id, i});
    used_[static_cast<std::size_t>(uses[i].resource)] += work * uses[i].per_unit;
    touch(uses[i].resource);
  }
}

void Sharing::remove(JobId id) {
  Job& job = jobs_[id];
  for (std::size_t i = 0; i < job.uses.size(); ++i) {
    Resource& resource = resources_[static_cast<std::size_t>(job.uses[i].resource)];
    const Entry last = resource.jobs.back();
    resource.jobs[job.slots[i]] = last;
    jobs_[last.job].slots[last.use] = job.slots[i];
    resource.jobs.pop_back();
    touch(job.uses[i].resource);
  }
  job.active = false;
  ++job.generation;
  free_.push_back(id);
}

double Sharing::next_end(double now) {
  settle(now);
  while (!ends_.empty() && ends_.top().generation != jobs_[ends_.top().job].generation) ends_.pop();
  return ends_.empty() ? never : ends_.top().time;
}

bool Sharing::pop(double now, std::uint64_t& owner) {
  while (!ends_.empty()) {
    const End end = ends_.top();
    if (end.generation == jobs_[end.job].generation) {
      if (end.time > now) return false;
      ends_.pop();
      owner = jobs_[end.job].owner;
      remove(end.job);
      return true;
    }
    ends_.pop();
  }
  return false;
}

void Sharing::settle(double now) {
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    if (!resources_[static_cast<std::size_t>(dirty_[i])].dirty) continue;  // in the part of one before
    collect(dirty_[i]);
    fill(now);
    for (ResourceId id : part_resources_) {
      Resource& resource = resources_[static_cast<std::size_t>(id)];
      resource.visited = resource.dirty = false;
    }
    for (JobId id : part_jobs_) jobs_[id].visited = jobs_[id].frozen = false;
  }
  dirty_.clear();
}

/// All that is linked with this resource by jobs that use several.
void Sharing::collect(ResourceId first) {
  part_resources_.assign(1, first);
  part_jobs_.clear();
  resources_[static_cast<std::size_t>(first)].visited = true;
  for (std::size_t i = 0; i < part_resources_.size(); ++i)
    for (const Entry& entry : resources_[static_cast<std::size_t>(part_resources_[i])].jobs) {
      Job& job = jobs_[entry.job];
      if (job.visited) continue;
      job.visited = true;
      part_jobs_.push_back(entry.job);
      for (const Use& use : job.uses) {
        Resource& resource = resources_[static_cast<std::size_t>(use.resource)];
        if (resource.visited) continue;
        resource.visited = true;
        part_resources_.push_back(use.resource);
      }
    }
}

/// Raises the rates of all jobs alike until a resource is full; its jobs stay there; and so on with the rest.
void Sharing::fill(double now) {
  for (ResourceId id : part_resources_) {
    Resource& resource = resources_[static_cast<std::size_t>(id)];
    resource.left = resource.capacity;
    resource.weight = 0;
    resource.open = static_cast<std::uint32_t>(resource.jobs.size());
    for (const Entry& entry : resource.jobs) resource.weight += jobs_[entry.job].uses[entry.use].per_unit;
  }
  constexpr double equal = 1 + 1e-12;  // symmetrical resources get full in one round in spite of rounding
  for (std::size_t frozen = 0; frozen < part_jobs_.size();) {
    double rate = never;
    for (ResourceId id : part_resources_) {
      const Resource& resource = resources_[static_cast<std::size_t>(id)];
      if (resource.open > 0) rate = std::min(rate, std::max(0.0, resource.left) / resource.weight);
    }
    std::vector<ResourceId> full;
    for (ResourceId id : part_resources_) {
      const Resource& resource = resources_[static_cast<std::size_t>(id)];
      if (resource.open > 0 && std::max(0.0, resource.left) / resource.weight <= rate * equal) full.push_back(id);
    }
    for (ResourceId id : full)
      for (const Entry& entry : resources_[static_cast<std::size_t>(id)].jobs) {
        if (jobs_[entry.job].frozen) continue;
        freeze(entry.job, rate);
        set_rate(jobs_[entry.job], entry.job, rate, now);
        ++frozen;
      }
  }
}

void Sharing::freeze(JobId id, double rate) {
  Job& job = jobs_[id];
  job.frozen = true;
  for (const Use& use : job.uses) {
    Resource& resource = resources_[static_cast<std::size_t>(use.resource)];
    resource.left -= rate * use.per_unit;
    resource.weight -= use.per_unit;
    --resource.open;
  }
}

void Sharing::set_rate(Job& job, JobId id, double rate, double now) {
  if (rate == job.rate) return;
  job.left = std::max(0.0, job.left - job.rate * (now - job.since));
  job.rate = rate;
  job.since = now;
  ends_.push({now + job.left / rate, id, ++job.generation});
}

}  // namespace godwit::collectives::simulator

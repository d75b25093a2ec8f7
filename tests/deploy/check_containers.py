#!/usr/bin/env python3
"""The container file, the compose file and the Kubernetes manifests are whole, closed, and name what exists.

Usage: check_containers.py ROOT FL_SERVER COTERIE BUILD; prints file: what and why. There is no cluster and no Docker here to try them on.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

import kubelet

ROOT = pathlib.Path(sys.argv[1]).resolve()
FL_SERVER, COTERIE = sys.argv[2:4]
BUILD = pathlib.Path(sys.argv[4]).resolve()
PROBLEMS = []


def wrong(where, what):
    PROBLEMS.append(f"{where}: {what}")


def expect(condition, where, what):
    if not condition:
        wrong(where, what)


def manifests():
    for path in sorted((ROOT / "deploy/kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield path.name, document


POD = {"metadata.name": "coterie-pod-6f7c-x2", "status.podIP": "10.0.0.7"}


def configuration_of(where, pod, files):
    """What the first container of a pod writes for the second: its command is run, as kubelet and then the shell understand it."""
    container = pod["initContainers"][0]
    variables = kubelet.environment(container, POD)
    words = kubelet.command(container, variables)
    with tempfile.TemporaryDirectory() as folder:
        for mount in container["volumeMounts"]:
            inside = pathlib.Path(folder + mount["mountPath"])
            inside.mkdir(parents=True)
            if mount["name"] == "config":
                for name, text in files.items():
                    (inside / name).write_text(text)
        words = [re.sub(r"(?<=\s)/(etc|run)/coterie/", folder + r"/\1/coterie/", word) for word in words]
        done = subprocess.run(words, env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True, text=True, check=False)
        expect(done.returncode == 0, where, f"the init command fails: {done.stderr}")
        read = pod["containers"][0]["args"]
        written = pathlib.Path(folder + read[read.index("--config") + 1])
        expect(written.exists(), where, f"the init command does not write {written.name}, which the server reads")
        text = written.read_text() if written.exists() else "{}"
    for variable in variables:
        expect(variable not in text, where, f"the init command leaves {variable} in the configuration")
    return check_configuration(where, text, POD["metadata.name"])


def check_configuration(where, text, node):
    """fl_server says whether it takes it."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([FL_SERVER, "--config", file.name, "--check"], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, where, "fl_server does not take it: " + done.stderr)
    config = json.loads(text)
    expect(config.get("node") == node, where, f"the node is named {config.get('node')}, not {node}")
    return config


def check_pod(where, name, pod, config_keys, claims):
    expect(pod["securityContext"].get("runAsNonRoot") is True, where, f"{name} may run as root")
    expect(pod.get("automountServiceAccountToken") is False, where, f"{name} gets a token of the cluster that it does not need")
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    used = set()
    for container in pod.get("initContainers", []) + pod["containers"]:
        context = container["securityContext"]
        expect(context.get("readOnlyRootFilesystem") is True, where, f"{name}/{container['name']} may write to its image")
        expect(context.get("allowPrivilegeEscalation") is False, where, f"{name}/{container['name']} may become more than it is")
        expect(context.get("capabilities") == {"drop": ["ALL"]}, where, f"{name}/{container['name']} keeps capabilities")
        expect("memory" in container["resources"]["limits"], where, f"{name}/{container['name']} has no limit of memory")
        for mount in container["volumeMounts"]:
            expect(mount["name"] in volumes, where, f"{name} mounts {mount['name']}, which is no volume")
            used.add(mount["name"])
    expect(used == set(volumes), where, f"{name} has volumes that nobody mounts: {set(volumes) - used}")
    for volume in volumes.values():
        if "persistentVolumeClaim" in volume:
            expect(volume["persistentVolumeClaim"]["claimName"] in claims, where, f"{name} claims what is not there")
    role = name.removeprefix("coterie-")
    expect(f"{role}.json" in config_keys, where, f"{name} has no configuration {role}.json")
    server = pod["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in server["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = server[probe]["httpGet"]
        expect(get["port"] in ports and get["scheme"] == "HTTPS", where, f"{name}'s {probe} asks nobody")
    return ports


def check_kubernetes():
    documents = list(manifests())
    by_kind = {}
    for where, document in documents:
        by_kind.setdefault(document["kind"], []).append((where, document))
        if document["kind"] != "Namespace":
            expect(document["metadata"].get("namespace") == "coterie", where, f"{document['metadata']['name']} is in no namespace")
    configs = {key: text for _, document in by_kind["ConfigMap"] for key, text in document["data"].items()}
    claims = {document["metadata"]["name"] for _, document in by_kind["PersistentVolumeClaim"]}
    deployments = {}
    for where, document in by_kind["Deployment"]:
        name = document["metadata"]["name"]
        template = document["spec"]["template"]
        labels = template["metadata"]["labels"]
        expect(document["spec"]["selector"]["matchLabels"] == labels, where, f"{name} does not select its own pods")
        ports = check_pod(where, name, template["spec"], configs, claims)
        config = configuration_of(where, template["spec"], configs)
        role = name.removeprefix("coterie-")
        expect(config.get("role") == role, where, f"{name} runs as {config.get('role')}")
        for plane, port in ports.items():
            expect(config[plane]["port"] == port, where, f"{name}'s port {plane} is not that of its configuration")
        grace = template["spec"]["terminationGracePeriodSeconds"]
        expect(config.get("shutdown_ms_max", 20000) < grace * 1000, where, f"{name} is killed before it has drained")
        deployments[name] = (labels, ports, document)

    def selects(where, what, selector):
        found = [entry for entry in deployments.values() if selector.items() <= entry[0].items()]
        expect(len(found) == 1, where, f"{what} selects {len(found)} deployments")
        return found[0]

    for where, document in by_kind["Service"]:
        _, ports, _ = selects(where, document["metadata"]["name"], document["spec"]["selector"])
        for port in document["spec"]["ports"]:
            expect(port["targetPort"] in ports, where, f"{document['metadata']['name']} leads to no port")
    for kind in ("PodDisruptionBudget",):
        for where, document in by_kind[kind]:
            selects(where, kind, document["spec"]["selector"]["matchLabels"])
    covered = set()
    for where, document in by_kind["NetworkPolicy"]:
        labels, ports, _ = selects(where, "NetworkPolicy", document["spec"]["podSelector"]["matchLabels"])
        covered.add(labels["app"])
        for rule in document["spec"]["ingress"]:
            for port in rule["ports"]:
                expect(port["port"] in ports.values(), where, f"the policy opens port {port['port']}, where nobody listens")
    expect(covered == {labels["app"] for labels, _, _ in deployments.values()}, "kubernetes", "some pods have no network policy")
    metrics = (ROOT / "fl_server/telemetry/metrics.cc").read_text()
    for where, document in by_kind["HorizontalPodAutoscaler"]:
        target = document["spec"]["scaleTargetRef"]["name"]
        expect(target in deployments, where, f"scales {target}, which is not there")
        expect("replicas" not in deployments[target][2]["spec"], where, f"{target} has replicas, and a scaler that changes them")
        for metric in document["spec"]["metrics"]:
            if metric["type"] == "Pods":
                name = metric["pods"]["metric"]["name"]
                expect(f'"{name}"' in metrics, where, f"scales on {name}, which is no metric")


def check_compose():
    folder = ROOT / "deploy/compose"
    compose = yaml.safe_load((folder / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        if service.get("image") != "coterie":
            continue
        where = f"compose.yaml {name}"
        expect(service["read_only"] is True and service["cap_drop"] == ["ALL"], where, "is not closed")
        for config in service["configs"]:
            expect(config["source"] in compose["configs"], where, f"has no configuration {config['source']}")
        for volume in service["volumes"]:
            expect(volume.split(":")[0] in compose["volumes"], where, f"mounts {volume}, which is not there")
    for name, config in compose["configs"].items():
        expect((folder / config["file"]).exists(), "compose.yaml", f"{config['file']} is not there")
        if config["file"].endswith(".json"):
            text = (folder / config["file"]).read_text().replace("NODE", "pod-1")  # as its sed does
            check_configuration(f"compose {name}", text, "pod-1")


def check_container_file():
    text = (ROOT / "deploy/Dockerfile").read_text()
    final = text[text.rindex("\nFROM "):]
    expect(re.search(r"^USER [1-9]\d*$", final, re.M), "Dockerfile", "runs as root")
    installed = set(re.search(r"apt-get install[^&]*&&", final).group().replace("\\", " ").split())
    for program in (FL_SERVER, COTERIE):
        needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"NEEDED.*\[(\S+)\]", needed):  # what those need, their packages bring
            owner = subprocess.run(["dpkg", "-S", "*/" + library], capture_output=True, text=True, check=False).stdout
            packages = {line.split(":")[0] for line in owner.splitlines()} - {""}
            if not packages or packages & {"libc6", "libgcc-s1"}:
                continue  # in every image
            expect(packages & installed, "Dockerfile", f"{pathlib.Path(program).name} needs {library}: install {sorted(packages)}")
    check_build_stage(text[:text.rindex("\nFROM ")], final)


def check_build_stage(build, final):
    """It installs what the build needs, by the same list; its targets are this build's, and what is copied is where they are put."""
    listed = re.search(r"\. (\S+) && apt-get install([^&]*)", build)
    lists = re.findall(r"\$\{(\w+)\[@\]\}", listed.group(2)) if listed else []
    expect({"coterie_packages", "coterie_console_packages"} <= set(lists), "Dockerfile",
           f"the build stage installs the lists {lists}: without coterie_packages there is no build, without coterie_console_packages no console")
    for name in lists:
        expect(f"{name}=(" in (ROOT / listed.group(1)).read_text(), "Dockerfile", f"{listed.group(1)} defines no {name}")
    expect("console/console_bundle.cc" in build, "Dockerfile", "the build stage does not see whether it made the console")
    preset = re.search(r"cmake --preset (\w+)", build).group(1)
    expect(f'"name": "{preset}"' in (ROOT / "CMakePresets.json").read_text(), "Dockerfile", f"there is no preset {preset}")
    targets = re.search(r"ninja -C build/(\w+) ([\w ]+)", build)
    expect(targets.group(1) == preset, "Dockerfile", f"configures {preset} and builds {targets.group(1)}")
    known = subprocess.run(["ninja", "-C", BUILD, "-t", "query", *targets.group(2).split()], capture_output=True, text=True, check=False)
    expect(known.returncode == 0, "Dockerfile", f"the build has no such target: {known.stderr}")
    for copied in re.findall(r"/src/build/(\S+)", final):
        inside = copied.removeprefix(preset + "/")
        expect((BUILD / inside).exists(), "Dockerfile", f"copies {copied}, which the build does not make")
    # A build folder of the host would be copied along, and CMake refuses one that was configured elsewhere.
    ignored = (ROOT / ".dockerignore").read_text().split()
    expect("build" in ignored and ".git" in ignored, ".dockerignore", "the host's build folder or history goes into the image")


check_kubernetes()
check_compose()
check_container_file()
for problem in PROBLEMS:
    print(problem)
sys.exit(1 if PROBLEMS else 0)

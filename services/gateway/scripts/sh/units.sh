systemd_unit() {
  cat <<'END'
[Unit]
Description=Anneal agent: runs the configs of this host's queue
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/local/bin/anneal-agent run
Restart=always
RestartSec=2
# A config that runs survives a restart of the agent.
KillMode=process

[Install]
WantedBy=multi-user.target
END
}
openrc_service() {
  cat <<'END'
#!/sbin/openrc-run
description="Anneal agent: runs the configs of this host's queue"
supervisor=supervise-daemon
command=/usr/local/bin/anneal-agent
command_args=run
respawn_delay=2
respawn_max=0
output_log=/var/log/anneal-agent.log
error_log=/var/log/anneal-agent.log

depend() {
  use net
}
END
}

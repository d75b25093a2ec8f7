package org.coterie.example

import android.content.Context
import android.content.Intent
import android.content.IntentFilter
import android.net.ConnectivityManager
import android.net.NetworkCapabilities
import android.os.BatteryManager
import android.os.Build
import android.os.PowerManager
import org.coterie.Conditions
import org.coterie.Thermal

/** What the device is like, as a client asks for it. What cannot be known stays unknown, which meets no requirement. */
class DeviceState(private val context: Context) {
    private val power = context.getSystemService(Context.POWER_SERVICE) as PowerManager
    private val network = context.getSystemService(Context.CONNECTIVITY_SERVICE) as ConnectivityManager

    fun now(): Conditions {
        val battery: Intent? = context.registerReceiver(null, IntentFilter(Intent.ACTION_BATTERY_CHANGED))
        val level = battery?.getIntExtra(BatteryManager.EXTRA_LEVEL, -1) ?: -1
        val scale = battery?.getIntExtra(BatteryManager.EXTRA_SCALE, -1) ?: -1
        val now = Conditions()
        now.charging = battery?.let { it.getIntExtra(BatteryManager.EXTRA_PLUGGED, 0) != 0 }
        now.batteryPercent = if (level > 0 && scale > 0) maxOf(1, level * 100 / scale) else 0
        now.unmetered = network.getNetworkCapabilities(network.activeNetwork)
            ?.hasCapability(NetworkCapabilities.NET_CAPABILITY_NOT_METERED)
        now.idle = !power.isInteractive
        now.thermal = if (Build.VERSION.SDK_INT >= 29) thermalOf(power.currentThermalStatus) else Thermal.UNKNOWN
        return now
    }

    private fun thermalOf(status: Int): Thermal = when {
        status <= PowerManager.THERMAL_STATUS_NONE -> Thermal.NOMINAL
        status <= PowerManager.THERMAL_STATUS_LIGHT -> Thermal.FAIR
        status <= PowerManager.THERMAL_STATUS_MODERATE -> Thermal.SERIOUS
        else -> Thermal.CRITICAL
    }
}
